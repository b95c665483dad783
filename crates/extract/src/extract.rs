//! From raw bytes to one code, one link, or none, in named steps.

use crate::explanation::{self, RULESET};
use crate::reading::{Reading, Source};
use crate::{
    Code, Explanation, Flag, Identity, Link, Policy, Reason, Refusal, Sender, Verdict, code, flag,
    html, identity, link, mail, sender, structure,
};

/// How much text is searched for artifacts.
const MAX_TEXT: usize = 256 * 1024;
/// How much HTML is turned into text.
const MAX_HTML: usize = 1024 * 1024;

/// What a mail holds.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// Which mail this is.
    pub identity: Identity,
    /// Who the mail says it is from.
    pub sender: Sender,
    /// What was odd, sorted, each once.
    pub flags: Vec<Flag>,
    /// The one-time code.
    pub code: Verdict<Code>,
    /// The action link.
    pub link: Verdict<Link>,
    /// How the answer came about.
    pub explanation: Explanation,
}

/// Reads a mail and finds the one code and the one link in it.
///
/// The same bytes and policy always give the same answer. Nothing is fetched.
pub fn extract(raw: &[u8], policy: &Policy) -> Result<Extracted, Refusal> {
    let structure = structure::read(raw)?;
    let stated = sender::read(&structure.headers);
    let bodies = mail::bodies(&structure);
    let subject = mail::header_text(&structure.headers, "Subject");
    let date = mail::header_text(&structure.headers, "Date");
    let from = mail::header_text(&structure.headers, "From");
    let identity = Identity {
        message_id: identity::message_id(&structure.headers),
        content: identity::content_digest([&from, &subject, &date, &bodies.text, &bodies.html]),
    };
    let readings = readings(&subject, &bodies);
    let found = code::find(&readings, &policy.links);
    let linked = link::find(&readings, &policy.links);
    let mut flags = flag::of_mail(&structure, &stated, &bodies, &readings);
    flags.extend(linked.flags);
    if identity.message_id.is_none() {
        flags.push(Flag::SyntheticMessageId);
    }
    flags.sort_unstable();
    flags.dedup();
    let cut = bodies.cut && found.reaches_end;
    let withheld = withholding(&flags, cut);
    Ok(Extracted {
        identity,
        flags,
        sender: stated.sender,
        code: withhold(found.verdict, withheld),
        link: withhold(linked.verdict, withheld),
        explanation: Explanation {
            ruleset: RULESET,
            sources: explanation::sources(&readings),
            languages: found.languages,
            code: found.considered,
            links: linked.considered,
        },
    })
}

fn readings(subject: &str, bodies: &mail::Bodies) -> Vec<Reading> {
    let mut readings = vec![Reading::of_line(Source::Subject, subject)];
    if !bodies.text.trim().is_empty() {
        readings.push(Reading::of_text(&bodies.text, MAX_TEXT));
    }
    if !bodies.html.trim().is_empty() {
        readings.push(html::read(&bodies.html, MAX_HTML, MAX_TEXT));
    }
    readings
}

/// Why nothing may be handed out, whatever was found.
fn withholding(flags: &[Flag], cut: bool) -> Option<Reason> {
    if flags.contains(&Flag::FromAmbiguous) {
        Some(Reason::FromAmbiguous)
    } else if flags.contains(&Flag::AutoReply) {
        Some(Reason::AutoReply)
    } else if flags.contains(&Flag::SelfSent) {
        Some(Reason::SelfSent)
    } else if cut || flags.contains(&Flag::Truncated) {
        Some(Reason::Truncated)
    } else {
        None
    }
}

fn withhold<T>(verdict: Verdict<T>, reason: Option<Reason>) -> Verdict<T> {
    match (verdict, reason) {
        (Verdict::Found(_) | Verdict::Withheld(_), Some(reason)) => Verdict::Withheld(reason),
        (verdict, _) => verdict,
    }
}
