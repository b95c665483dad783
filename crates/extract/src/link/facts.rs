//! Whole numbers that describe one link, for the trees that judge it.

use url::Url;

use super::address::longest_number;
use super::classify::{ACTION, Classified, Words};
use super::collect::WrittenLink;
use crate::extraction::LinkKind;
use crate::lexicon::Sense;
use crate::model::words;
use crate::reading::TextSource;

/// How many facts there are about a link.
pub(super) const FACTS: usize = 35;

/// What denies, deletes or leaves.
const HARM: Sense = Sense::DENY
    .or(Sense::DELETE)
    .or(Sense::LEAVE)
    .or(Sense::NOT_ME);

/// The cues of what the reader waits for, and of what must not be followed.
const WANTED: Sense = Sense::AGREE
    .or(Sense::GO_IN)
    .or(Sense::CHOOSE)
    .or(Sense::JOIN);
const UNWANTED: Sense = Sense::REFUSE
    .or(Sense::REMOVE)
    .or(Sense::QUIT)
    .or(Sense::ALARM);

/// Where it says how long the longest piece of the URL is that has a digit.
pub(super) const NUMBER: usize = FACTS - 1;

/// The facts about a link. `address` is what the words of its URL say.
pub(super) fn facts(
    written: &WrittenLink,
    url: &Url,
    (said, classified, address): (&Words, &Classified, Sense),
    token_strength: u8,
) -> [i32; FACTS] {
    let yes = i32::from;
    let wanted = |cues: Sense| yes(cues.says(WANTED));
    let unwanted = |cues: Sense| yes(cues.says(UNWANTED));
    let shown = |cues: Sense| yes(cues.says(Sense::SHOW));
    [
        kind(classified.kind),
        i32::from(token_strength),
        yes(written.source == TextSource::Html),
        small(words(&written.label).count(), 12),
        small(written.sentence.len() / 8, 30),
        small(written.before.len() / 8, 30),
        small(written.after.len() / 8, 30),
        yes(said.label.says(ACTION)),
        yes(said.label.says(HARM)),
        yes(said.label.says(Sense::PAGE)),
        yes(said.sentence.says(ACTION)),
        yes(said.sentence.says(HARM)),
        yes(said.sentence.says(Sense::CLICK)),
        yes(said.above.says(ACTION)),
        yes(said.above.says(HARM)),
        yes(said.above.says(Sense::CLICK)),
        yes(said.after.says(ACTION)),
        yes(said.after.says(HARM)),
        yes(said.subject.says(ACTION)),
        yes(said.subject.says(HARM)),
        yes(address.says(ACTION)),
        yes(address.says(HARM)),
        wanted(said.cues.label),
        unwanted(said.cues.label),
        shown(said.cues.label),
        wanted(said.cues.sentence),
        unwanted(said.cues.sentence),
        shown(said.cues.sentence),
        wanted(said.cues.above),
        unwanted(said.cues.above),
        shown(said.cues.above),
        wanted(said.cues.after),
        unwanted(said.cues.after),
        shown(said.cues.after),
        small(longest_number(url), 40),
    ]
}

fn kind(kind: LinkKind) -> i32 {
    match kind {
        LinkKind::VerifyEmail => 0,
        LinkKind::MagicLogin => 1,
        LinkKind::PasswordReset => 2,
        LinkKind::Invite => 3,
        LinkKind::EmailChange => 4,
        LinkKind::ApproveSignin => 5,
        LinkKind::Unnamed => 6,
        _ => 7,
    }
}

/// A count of at most `most`.
pub(super) fn small(count: usize, most: usize) -> i32 {
    i32::try_from(count.min(most)).unwrap_or_default()
}
