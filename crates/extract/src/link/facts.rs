//! Whole numbers that describe one link, for the trees that judge it.

use url::Url;

use super::classify::{ACTION, Classified, Cues, Words};
use super::collect::WrittenLink;
use super::token::longest_number;
use crate::extraction::LinkKind;
use crate::lexicon::Sense;
use crate::model::{small, words};
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
    let seen = [
        kind(classified.kind),
        i32::from(token_strength),
        i32::from(written.source == TextSource::Html),
        small(words(&written.label).count(), 12),
        small(written.sentence.len() / 8, 30),
        small(written.before.len() / 8, 30),
        small(written.after.len() / 8, 30),
    ];
    let terms: [(Sense, &[Sense]); 6] = [
        (said.label, &[ACTION, HARM, Sense::PAGE]),
        (said.sentence, &[ACTION, HARM, Sense::CLICK]),
        (said.above, &[ACTION, HARM, Sense::CLICK]),
        (said.after, &[ACTION, HARM]),
        (said.subject, &[ACTION, HARM]),
        (address, &[ACTION, HARM]),
    ];
    let Cues {
        label,
        sentence,
        above,
        after,
        ..
    } = &said.cues;
    let cues = [label, sentence, above, after];
    let cues = cues.map(|cues| (*cues, [WANTED, UNWANTED, Sense::SHOW].as_slice()));
    let said = terms.into_iter().chain(cues);
    let said = said.flat_map(|(sense, asked)| {
        let asked = asked.iter();
        asked.map(move |one| i32::from(sense.says(*one)))
    });
    let mut facts = [0; FACTS];
    let all = seen.into_iter().chain(said);
    let all = all.chain([small(longest_number(url), 40)]);
    for (place, fact) in facts.iter_mut().zip(all) {
        *place = fact;
    }
    facts
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
