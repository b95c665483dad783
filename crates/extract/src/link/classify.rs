//! What a link does, and how sure that is.

use url::Url;

use super::address::{is_furniture, senses, token_strength};
use super::collect::Found;
use crate::LinkKind;
use crate::lexicon::{Sense, link_hits};

/// A piece of evidence about a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkRule {
    /// Its label names the action.
    Label,
    /// Its address names the action.
    Address,
    /// Its sentence asks to click it for the action.
    Call,
    /// Its sentence names the action.
    Sentence,
    /// The lines above ask to click it for the action.
    CallAbove,
    /// The lines above name the action.
    Above,
    /// The subject names the action.
    Subject,
    /// It carries a long token.
    Token,
    /// It carries a short or named token.
    ShortToken,
    /// It carries nothing that only its recipient could know.
    NoToken,
    /// It stands in the mail twice.
    Repeated,
    /// Its label is as long as a sentence.
    LongLabel,
    /// Nothing at the link itself names the action.
    Unnamed,
}

/// Every rule and its points.
const TABLE: &[(LinkRule, i32)] = &[
    (LinkRule::Label, 40),
    (LinkRule::Address, 30),
    (LinkRule::Call, 30),
    (LinkRule::Sentence, 15),
    (LinkRule::CallAbove, 25),
    (LinkRule::Above, 10),
    (LinkRule::Subject, 10),
    (LinkRule::Token, 40),
    (LinkRule::ShortToken, 30),
    (LinkRule::NoToken, -15),
    (LinkRule::Repeated, 8),
    (LinkRule::LongLabel, -10),
    (LinkRule::Unnamed, -20),
];

impl LinkRule {
    /// The points it gives or takes.
    pub fn points(self) -> i32 {
        TABLE
            .iter()
            .find(|(rule, _)| *rule == self)
            .map_or(0, |(_, points)| *points)
    }
}

impl LinkRule {
    /// Evidence about this link, not only about the mail.
    fn names_the_link(self) -> bool {
        matches!(
            self,
            Self::Label | Self::Address | Self::Call | Self::Sentence | Self::CallAbove
        )
    }
}

/// Every sense that names an action, in the order in which they decide.
const ACTIONS: &[(Sense, LinkKind)] = &[
    (Sense::CHANGE, LinkKind::EmailChange),
    (Sense::RESET, LinkKind::PasswordReset),
    (Sense::INVITE, LinkKind::Invite),
    (Sense::APPROVE, LinkKind::ApproveSignin),
    (Sense::VERIFY, LinkKind::VerifyEmail),
    (Sense::LOGIN, LinkKind::MagicLogin),
];

const ACTION: Sense = Sense::CHANGE
    .or(Sense::RESET)
    .or(Sense::INVITE)
    .or(Sense::APPROVE)
    .or(Sense::VERIFY)
    .or(Sense::LOGIN);

/// The words about a link, by where they stand.
struct Words {
    label: Sense,
    address: Sense,
    sentence: Sense,
    above: Sense,
    subject: Sense,
    /// The link has a label at all.
    is_named: bool,
}

/// The kind of a link and the evidence for it. A protected link has none.
pub(super) fn classify(
    found: &Found,
    url: &Url,
    subject: Sense,
    opaque: bool,
) -> (LinkKind, Vec<LinkRule>) {
    let words = Words {
        label: all(&found.label),
        address: senses(url),
        sentence: all(&found.sentence),
        above: all(&found.before),
        subject,
        is_named: !found.label.is_empty(),
    };
    if let Some(kind) = protected(&words, url) {
        return (kind, Vec::new());
    }
    // What a tracker carries is known to its owner alone.
    let token = if opaque { 1 } else { token_strength(url) };
    let mut rules = Vec::new();
    let holds = [
        (words.label.says(ACTION), LinkRule::Label),
        (words.address.says(ACTION), LinkRule::Address),
        (calls(words.sentence), LinkRule::Call),
        (
            !calls(words.sentence) && words.sentence.says(ACTION),
            LinkRule::Sentence,
        ),
        (
            !words.sentence.says(ACTION) && calls(words.above),
            LinkRule::CallAbove,
        ),
        (
            !words.sentence.says(ACTION) && !calls(words.above) && words.above.says(ACTION),
            LinkRule::Above,
        ),
        (words.subject.says(ACTION), LinkRule::Subject),
        (token == 2, LinkRule::Token),
        (token == 1, LinkRule::ShortToken),
        (token == 0, LinkRule::NoToken),
        (found.label.len() > 80, LinkRule::LongLabel),
    ];
    rules.extend(
        holds
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, rule)| *rule),
    );
    if !rules.iter().any(|rule| rule.names_the_link()) {
        rules.push(LinkRule::Unnamed);
    }
    (kind(&words), rules)
}

fn all(text: &str) -> Sense {
    link_hits(text)
        .iter()
        .fold(Sense::default(), |all, hit| all.or(hit.sense))
}

/// "Click the link below to confirm".
fn calls(words: Sense) -> bool {
    words.says(ACTION) && words.says(Sense::CLICK)
}

fn kind(words: &Words) -> LinkKind {
    let sources = [
        words.label,
        words.address,
        words.sentence,
        words.above,
        words.subject,
    ];
    sources
        .iter()
        .find_map(|source| ACTIONS.iter().find(|(sense, _)| source.says(*sense)))
        .map_or(LinkKind::Other, |(_, kind)| *kind)
}

/// Links that must never be followed on somebody's behalf.
fn protected(words: &Words, url: &Url) -> Option<LinkKind> {
    if is_furniture(url) {
        return Some(LinkKind::Other);
    }
    if words.label.or(words.address).says(Sense::DELETE) || is_deletion(words) {
        return Some(LinkKind::Delete);
    }
    if words.label.or(words.address).says(Sense::LEAVE) {
        return Some(LinkKind::Unsubscribe);
    }
    let denies = words.label.says(Sense::DENY)
        && !words
            .label
            .says(Sense::VERIFY.or(Sense::LOGIN).or(Sense::INVITE));
    if denies || words.address.says(Sense::DENY) || answers_an_alarm(words) {
        return Some(LinkKind::DenyOrRevoke);
    }
    let page = words.address.says(Sense::PAGE)
        || words.label.says(Sense::PAGE) && !words.label.says(ACTION);
    page.then_some(LinkKind::Other)
}

/// "Click the link below to delete your account", whatever the link is called.
fn is_deletion(words: &Words) -> bool {
    let asked = words.sentence.says(Sense::DELETE)
        || words.above.says(Sense::DELETE) && words.above.says(Sense::CLICK);
    asked && !words.label.says(ACTION)
        || words.subject.says(Sense::DELETE) && !words.subject.says(Sense::INVITE)
}

/// "New sign-in. If this was not you, secure your account": whatever the link
/// is called, unless it is called what was asked for. A reset in a mail about
/// signing in is one that nobody asked for.
fn answers_an_alarm(words: &Words) -> bool {
    let alarm = words.sentence.says(Sense::NOT_ME)
        || words.above.or(words.subject).says(Sense::NOT_ME) && words.is_named
        || words.label.says(Sense::RESET) && words.subject.says(Sense::LOGIN);
    alarm
        && !words.subject.says(Sense::RESET)
        && !words.label.says(
            Sense::VERIFY
                .or(Sense::LOGIN)
                .or(Sense::INVITE)
                .or(Sense::APPROVE),
        )
}
