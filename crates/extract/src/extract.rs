//! From raw bytes to one code, one link, or none, in named steps.

use crate::explanation::RULESET;
use crate::{
    Code, Explanation, Flag, Identity, Link, Policy, Reason, Refusal, Sender, Verdict, identity,
    mail, sender, structure,
};

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
pub fn extract(raw: &[u8], _policy: &Policy) -> Result<Extracted, Refusal> {
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
    let mut flags = Vec::new();
    if stated.ambiguous {
        flags.push(Flag::FromAmbiguous);
    }
    Ok(Extracted {
        identity,
        sender: stated.sender,
        flags,
        code: Verdict::Nothing(Reason::NoCandidate),
        link: Verdict::Nothing(Reason::NoCandidate),
        explanation: Explanation { ruleset: RULESET },
    })
}
