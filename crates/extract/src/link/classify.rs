//! Classifies a link by the words around it and by its URL.

use url::Url;

use super::address::{is_no_action, names_only_sections, senses};
use super::collect::WrittenLink;
use super::label::{is_no, is_short};
use super::rule::LinkRule;
use super::token::{longest_number, token_strength};
use crate::extraction::LinkKind;
use crate::lexicon::{Hit, Sense, link_cue_hits, link_hits};
use crate::steps::Steps;

/// The senses that name an action. The first that matches decides the kind.
const ACTIONS: &[(Sense, LinkKind)] = &[
    (Sense::CHANGE, LinkKind::EmailChange),
    (Sense::RESET, LinkKind::PasswordReset),
    (Sense::INVITE, LinkKind::Invite),
    (Sense::APPROVE, LinkKind::ApproveSignin),
    (Sense::VERIFY, LinkKind::VerifyEmail),
    (Sense::LOGIN, LinkKind::MagicLogin),
];

/// All of them.
pub(super) const ACTION: Sense = ENTRY.or(Sense::APPROVE).or(Sense::VERIFY);

/// Those of them that end nothing, whatever the text above says.
const ENTRY: Sense = Sense::CHANGE
    .or(Sense::RESET)
    .or(Sense::INVITE)
    .or(Sense::LOGIN);

/// The kind of a link and the evidence for it. A link that is protected by what
/// it says has no evidence.
#[derive(Debug)]
pub(super) struct Classified {
    pub(super) kind: LinkKind,
    pub(super) rules: Vec<LinkRule>,
}

impl Classified {
    pub(super) fn score(&self) -> i32 {
        self.rules.iter().map(|rule| rule.points()).sum()
    }

    /// Whether its words say that it must not be followed.
    pub(super) fn is_protected(&self) -> bool {
        self.rules.is_empty()
    }
}

/// The cues around a link.
pub(super) struct Cues {
    pub(super) label: Sense,
    pub(super) sentence: Sense,
    pub(super) above: Sense,
    pub(super) after: Sense,
    /// A short label, or what is written beside a URL, refuses or removes something, and agrees
    /// to nothing.
    refuses: bool,
}

impl Cues {
    fn of(written: &WrittenLink, steps: &Steps<'_>) -> Self {
        let cues_of = |text: &str| Hit::senses(&link_cue_hits(text, steps));
        Self {
            label: cues_of(&written.label),
            sentence: cues_of(&written.sentence),
            above: cues_of(&written.before),
            after: cues_of(&written.after),
            refuses: refuses(&written.label, Sense::default(), steps)
                || refuses(&written.beside, Sense::POINT, steps),
        }
    }
}

/// Whether a short text refuses or removes something and does not also agree. Words for signing in
/// count as agreement, unless the text begins with the refusal: "block this sign-in". `exempt` are
/// further senses that count as agreement. For a line beside a URL these are words that point to a
/// button: "is the button blocked?"
fn refuses(text: &str, exempt: Sense, steps: &Steps<'_>) -> bool {
    /// Words of at most so many bytes may mean something else in another language.
    const MOST_IGNORED: usize = 4;
    if !is_short(text) {
        return false;
    }
    let mut cues = link_cue_hits(text, steps);
    cues.retain(|cue| cue.range().len() > MOST_IGNORED);
    let ends = Sense::REFUSE.or(Sense::REMOVE);
    let first = cues.first().map(|cue| cue.sense).unwrap_or_default();
    let enters = Sense::GO_IN.or(Sense::CHOOSE);
    let agrees = Sense::AGREE.or(exempt);
    let agrees = if first.says(ends) && !first.says(enters) {
        agrees
    } else {
        agrees.or(enters)
    };
    let said = Hit::senses(&cues);
    said.says(ends) && !said.says(agrees)
}

/// What the words around a link say.
pub(super) struct Words {
    pub(super) label: Sense,
    pub(super) sentence: Sense,
    pub(super) above: Sense,
    /// Those of all text before the link that can say something about it.
    earlier: Sense,
    /// The reader asked for something there.
    is_asked_earlier: bool,
    /// No rule looks at these, only the model.
    pub(super) after: Sense,
    pub(super) subject: Sense,
    /// The cues at the same places, for the model. Rules look only at those of the label: whether
    /// it refuses, goes on, or asks for another mail.
    pub(super) cues: Cues,
    /// The senses of what is written beside a URL. They are only reasons not to follow it.
    beside: Sense,
    /// The link has a label at all.
    is_named: bool,
    has_long_label: bool,
}

impl Words {
    pub(super) fn of(written: &WrittenLink, subject: Sense, steps: &Steps<'_>) -> Self {
        let senses_of = |text: &str| Hit::senses(&link_hits(text, steps));
        let label = senses_of(&written.label);
        Self {
            label: if is_no(&written.label) {
                label.or(Sense::DENY)
            } else {
                label
            },
            sentence: senses_of(&written.sentence),
            above: senses_of(&written.before),
            earlier: senses_of(&written.earlier),
            is_asked_earlier: Hit::senses(&link_cue_hits(&written.earlier, steps))
                .says(Sense::ASKED),
            after: senses_of(&written.after),
            subject,
            cues: Cues::of(written, steps),
            beside: senses_of(&written.beside),
            is_named: written.is_named,
            has_long_label: written.label.len() > 80,
        }
    }

    /// Classifies a link by these words and by the words of its URL.
    pub(super) fn classify(&self, url: &Url, is_opaque: bool) -> Classified {
        let address = senses(url);
        if let Some(kind) = self.protected(address, url) {
            let rules = Vec::new();
            return Classified { kind, rules };
        }
        // Only the owner of a tracker knows what its links carry.
        let token = if is_opaque { 1 } else { token_strength(url) };
        let is_asked_in_sentence = self.sentence.says(ACTION);
        let holds = [
            (self.label.says(ACTION), LinkRule::Label),
            (address.says(ACTION), LinkRule::Address),
            (calls(self.sentence), LinkRule::Call),
            (
                !calls(self.sentence) && is_asked_in_sentence,
                LinkRule::Sentence,
            ),
            (
                !is_asked_in_sentence && calls(self.above),
                LinkRule::CallAbove,
            ),
            (
                !is_asked_in_sentence && !calls(self.above) && self.above.says(ACTION),
                LinkRule::Above,
            ),
            (self.subject.says(ACTION), LinkRule::Subject),
            (token == 2, LinkRule::Token),
            (token == 1, LinkRule::ShortToken),
            (token == 0, LinkRule::NoToken),
            (self.has_long_label, LinkRule::LongLabel),
        ];
        let held = holds.iter().filter(|(holds, _)| *holds);
        let mut rules: Vec<LinkRule> = held.map(|(_, rule)| *rule).collect();
        if !rules.iter().any(|rule| rule.names_the_link()) {
            rules.push(LinkRule::Unnamed);
        }
        let kind = self.kind(address);
        Classified { kind, rules }
    }

    fn kind(&self, address: Sense) -> LinkKind {
        let sources = [self.label, address, self.sentence, self.above, self.subject];
        sources
            .iter()
            .find_map(|source| ACTIONS.iter().find(|(sense, _)| source.says(*sense)))
            .map_or(LinkKind::Unnamed, |(_, kind)| *kind)
    }

    /// The kind of a link that an agent must never follow.
    fn protected(&self, address: Sense, url: &Url) -> Option<LinkKind> {
        if is_no_action(url) {
            return Some(LinkKind::Other);
        }
        let named = self.label.or(self.beside);
        if named.or(address).says(Sense::DELETE) || self.asks_to_delete() {
            return Some(LinkKind::Delete);
        }
        if named.or(address).or(self.subject).says(Sense::LEAVE) || self.confirms_leaving() {
            return Some(LinkKind::Unsubscribe);
        }
        let acts = Sense::VERIFY.or(Sense::LOGIN).or(Sense::INVITE);
        let denies = |words: Sense| words.says(Sense::DENY) && !words.says(acts);
        if denies(self.label)
            || denies(self.beside)
            || address.says(Sense::DENY)
            || self.answers_an_alarm(address)
            || self.cues.refuses
        {
            return Some(LinkKind::DenyOrRevoke);
        }
        let is_page = address.says(Sense::PAGE) && !self.acts_in_a_section(address, url)
            || self.label.says(Sense::PAGE) && !self.label.says(ACTION);
        (is_page || self.sends_another()).then_some(LinkKind::Other)
    }

    /// "Confirm your subscription" at `/subscribe/confirm?u=44ab`: whether the words ask for an
    /// action, and the URL has a token, or names the action and has a number. An article such as
    /// `/help/confirm-your-address` has neither. Where the token is long, a call to click is enough.
    fn acts_in_a_section(&self, address: Sense, url: &Url) -> bool {
        let around = self.sentence.or(self.above);
        let is_asked_for = self.label.says(ACTION) || calls(self.sentence) || calls(self.above);
        let acts = match token_strength(url) {
            0 => is_asked_for && address.says(ACTION) && longest_number(url) > 0,
            1 => is_asked_for && address.says(ACTION),
            _ => is_asked_for || around.says(Sense::CLICK),
        };
        acts && names_only_sections(url)
    }

    /// "Send me a new code", "the link has expired": what such a label leads to is not what the
    /// reader waits for.
    fn sends_another(&self) -> bool {
        let action = Sense::AGREE
            .or(Sense::GO_IN)
            .or(Sense::CHOOSE)
            .or(Sense::JOIN);
        self.is_named && self.cues.label.says(Sense::AGAIN) && !self.cues.label.says(action)
    }

    /// "You asked to stop receiving our news. Please confirm:", above a link that is only called
    /// "Confirm".
    fn confirms_leaving(&self) -> bool {
        self.earlier.says(Sense::LEAVE) && !self.label.says(ENTRY)
    }

    /// "Click the link below to delete your account", whatever the link is called.
    fn asks_to_delete(&self) -> bool {
        self.earlier.says(Sense::DELETE) && self.is_asked_earlier && !self.label.says(ENTRY)
            || self.sentence.says(Sense::DELETE) && !self.label.says(ACTION)
            || self.above.says(Sense::DELETE) && !self.label.says(ENTRY)
            || self.subject.says(Sense::DELETE) && !self.subject.says(Sense::INVITE)
    }

    /// "New sign-in. If this was not you, secure your account": the link denies
    /// something, unless its label names an action that the user asked for. Nobody
    /// asked for a password reset in a mail about a sign-in. A label that itself says "this was
    /// not me" always denies, unless it verifies. One that goes on ("Finish") answers no question
    /// above it or in the subject.
    fn answers_an_alarm(&self, address: Sense) -> bool {
        if self.label.says(Sense::NOT_ME) && !self.label.says(Sense::VERIFY) {
            return true;
        }
        let goes_on = self.cues.label.says(Sense::AGREE.or(Sense::GO_IN));
        let alarm = self.sentence.says(Sense::NOT_ME)
            || self.above.or(self.subject).says(Sense::NOT_ME) && self.is_named && !goes_on
            || self.asks_for_a_reset_above(address)
            || self.label.says(Sense::RESET) && self.subject.says(Sense::LOGIN);
        alarm
            && !self.subject.says(Sense::RESET)
            && !self.label.says(
                Sense::VERIFY
                    .or(Sense::LOGIN)
                    .or(Sense::INVITE)
                    .or(Sense::APPROVE),
            )
    }

    /// "If you did not change it, reset your password at once", above a bare address. A mail
    /// that the user asked for also says where to click.
    fn asks_for_a_reset_above(&self, address: Sense) -> bool {
        let is_reset =
            address.says(Sense::RESET) || self.above.says(Sense::RESET) && !address.says(ACTION);
        is_reset && self.above.says(Sense::NOT_ME) && !self.above.says(Sense::CLICK)
    }
}

/// "Click the link below to confirm".
fn calls(words: Sense) -> bool {
    words.says(ACTION) && words.says(Sense::CLICK)
}
