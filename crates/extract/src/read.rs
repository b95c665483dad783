//! Reads a mail once and decides what it holds under any number of policies.

use std::cell::RefCell;
use std::rc::Rc;

use crate::code::{self, Codes};
use crate::explanation::{Explanation, RULESET, SourceRead, sources};
use crate::extraction::{AbstainReason, Code, Extraction, Link};
use crate::flag::{self, Flag};
use crate::forward::is_forwarded;
use crate::identity::{self, Identity};
use crate::lexicon::{Languages, Memory};
use crate::link::{self, Links};
use crate::mail::{self, Bodies};
use crate::policy::Policy;
use crate::reading::{Reading, TextSource, is_page};
use crate::refusal::Refusal;
use crate::reply_headers::{self, ReplyHeaders};
use crate::sender::{self, FromAddress};
use crate::steps::Steps;
use crate::{html, structure};

/// How many bytes of text are searched for artifacts.
const MAX_TEXT: usize = 256 * 1024;
/// How many bytes of HTML are turned into text.
const MAX_HTML: usize = 1024 * 1024;

/// A mail that was parsed and searched. Deciding under a policy reads none of it
/// again.
#[derive(Debug)]
pub struct ReadMail {
    /// Which mail this is.
    pub identity: Identity,
    /// Who the mail says it is from.
    pub sender: FromAddress,
    /// What the mail says about answering it.
    pub reply: ReplyHeaders,
    /// The flags that do not depend on a policy.
    flags: Vec<Flag>,
    codes: Codes,
    links: Links,
    /// Why nothing of the mail may be handed out.
    withheld: Option<AbstainReason>,
    sources: Vec<SourceRead>,
}

/// What a mail holds under one policy.
#[derive(Debug, Clone)]
pub struct Decision {
    /// What is unusual about the mail, sorted, each flag once.
    pub flags: Vec<Flag>,
    /// The one-time code.
    pub code: Extraction<Code>,
    /// The action link.
    pub link: Extraction<Link>,
    /// The registrable domain that the allowlist lacks: of the host that the code is bound
    /// to, or of the action link.
    pub refused_host: Option<String>,
}

/// What a mail holds under one policy, with the mail's identity and the evidence.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// Which mail this is.
    pub identity: Identity,
    /// Who the mail says it is from.
    pub sender: FromAddress,
    /// What the mail says about answering it.
    pub reply: ReplyHeaders,
    /// What is unusual about the mail, sorted, each flag once.
    pub flags: Vec<Flag>,
    /// The one-time code.
    pub code: Extraction<Code>,
    /// The action link.
    pub link: Extraction<Link>,
    /// The evidence for the decision.
    pub explanation: Explanation,
}

/// Reads a mail and finds the one code and the one link in it.
///
/// The same bytes and policy always give the same answer. Nothing is fetched.
pub fn extract(raw: &[u8], policy: &Policy) -> Result<Extracted, Refusal> {
    let mail = read(raw)?;
    let decision = mail.decide(policy);
    let explanation = mail.explain(policy);
    Ok(Extracted {
        identity: mail.identity,
        sender: mail.sender,
        reply: mail.reply,
        flags: decision.flags,
        code: decision.code,
        link: decision.link,
        explanation,
    })
}

/// Parses a mail and searches it for codes and links.
pub fn read(raw: &[u8]) -> Result<ReadMail, Refusal> {
    read_within(raw, &Steps::for_size(raw.len()))
}

/// Parses a mail and searches it, as long as the budget lasts.
pub fn read_within(raw: &[u8], steps: &Steps<'_>) -> Result<ReadMail, Refusal> {
    let structure = structure::read(raw, steps)?;
    let stated = sender::read(&structure.headers, steps);
    let bodies = mail::bodies(&structure, steps);
    steps.check()?;
    let subject = mail::header_text(&structure.headers, "Subject", steps);
    let date = mail::header_text(&structure.headers, "Date", steps);
    let from = mail::header_text(&structure.headers, "From", steps);
    let identity = Identity {
        message_id: identity::message_id(&structure.headers),
        content: identity::content_digest(
            [&from, &subject, &date, &bodies.text, &bodies.html],
            steps,
        ),
    };
    let readings = readings(&subject, &bodies, steps);
    steps.check()?;
    let codes = code::read(&readings, steps);
    steps.check()?;
    let links = link::read(&readings, steps);
    steps.check()?;
    let mut flags = flag::of_mail(&structure, &stated, &bodies, &readings, steps);
    if identity.message_id.is_none() {
        flags.push(Flag::SyntheticMessageId);
    }
    if links.is_cut {
        flags.push(Flag::Truncated);
    }
    let is_incomplete = bodies.cut && codes.reaches_end || bodies.left_out;
    let reply = reply_headers::read(&structure.headers, steps);
    steps.check()?;
    Ok(ReadMail {
        identity,
        sender: stated.sender,
        reply,
        withheld: withholding(&flags, is_incomplete),
        sources: sources(&readings),
        flags,
        codes,
        links,
    })
}

impl ReadMail {
    /// Decides what the mail holds under a policy.
    pub fn decide(&self, policy: &Policy) -> Decision {
        let links = self.links.decide(&policy.links);
        let mut flags = self.flags.clone();
        flags.extend(links.flags);
        flags.sort_unstable();
        flags.dedup();
        let bound_to = self.codes.refused_host(&policy.links);
        Decision {
            flags,
            refused_host: bound_to.or(links.refused_host),
            code: self.withhold(self.codes.decide(policy).at_least(policy.threshold)),
            link: self.withhold(links.extraction.at_least(policy.threshold)),
        }
    }

    /// The evidence for the decision under a policy.
    pub fn explain(&self, policy: &Policy) -> Explanation {
        Explanation {
            ruleset: RULESET,
            sources: self.sources.clone(),
            languages: self.codes.languages.clone(),
            code: self.codes.considered.clone(),
            links: self.links.explain(&policy.links),
        }
    }

    fn withhold<T>(&self, extraction: Extraction<T>) -> Extraction<T> {
        match (extraction, self.withheld) {
            (Extraction::Found(_) | Extraction::Withheld(_), Some(reason)) => {
                Extraction::Withheld(reason)
            }
            (extraction, _) => extraction,
        }
    }
}

pub(crate) fn readings(subject: &str, bodies: &Bodies, steps: &Steps<'_>) -> Vec<Reading> {
    let mut readings = vec![Reading::of_line(TextSource::Subject, subject)];
    // Some services send a page as plain text.
    steps.charge(bodies.text.len());
    let is_mislabelled = bodies.html.trim().is_empty() && is_page(&bodies.text);
    let html = if is_mislabelled {
        &bodies.text
    } else {
        &bodies.html
    };
    if !is_mislabelled && !bodies.text.trim().is_empty() {
        let read = if is_forwarded(subject) {
            Reading::of_forwarded_text
        } else {
            Reading::of_text
        };
        readings.push(read(&bodies.text, MAX_TEXT, steps));
    }
    if !html.trim().is_empty() {
        readings.push(html::read(html, (MAX_HTML, MAX_TEXT), steps));
    }
    name_languages(&mut readings, steps);
    readings
}

/// Finds the languages of each text. A subject says too little about its own, so it has those
/// of the texts.
fn name_languages(readings: &mut [Reading], steps: &Steps<'_>) {
    let Some((subject, texts)) = readings.split_first_mut() else {
        return;
    };
    let memory: Rc<RefCell<Memory>> = Rc::clone(&subject.memory);
    for text in &mut *texts {
        text.languages = Languages::of(text.examined(), &mut memory.borrow_mut(), steps);
        text.memory = Rc::clone(&memory);
    }
    let all = texts.iter().map(|text| text.languages);
    subject.languages = all.reduce(Languages::or).unwrap_or(Languages::ALL);
}

/// Why nothing may be handed out, whatever was found.
fn withholding(flags: &[Flag], is_incomplete: bool) -> Option<AbstainReason> {
    if flags.contains(&Flag::FromAmbiguous) {
        Some(AbstainReason::FromAmbiguous)
    } else if flags.contains(&Flag::AutoReply) {
        Some(AbstainReason::AutoReply)
    } else if flags.contains(&Flag::SelfSent) {
        Some(AbstainReason::SelfSent)
    } else if is_incomplete || flags.contains(&Flag::Truncated) {
        Some(AbstainReason::Truncated)
    } else {
        None
    }
}
