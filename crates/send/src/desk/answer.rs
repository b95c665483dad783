//! What a reply takes over from the mail that it answers: recipient, subject and ids. An
//! agent chooses none of them.

use pipeline::{Recipient, ReplyContext, ReplyRefusal};

use crate::mail::Answered;
use crate::recipients::Recipients;

/// The longest subject of a reply, in characters.
const LONGEST_SUBJECT: usize = 200;

/// To whom a reply goes: the sender of the mail, if it is proven or on the list. A mail
/// that asks to be answered at another address is answered only if that one is listed:
/// otherwise its sender could make us write to strangers.
pub(super) fn recipient(
    context: &ReplyContext,
    is_proven: bool,
    listed: &Recipients,
) -> Result<Recipient, ReplyRefusal> {
    let address = |text: &str| {
        let address: Result<Recipient, _> = text.parse();
        address.or(Err(ReplyRefusal::NoSender))
    };
    if let Some(other) = &context.reply_to {
        let other = address(other).or(Err(ReplyRefusal::ReplyToDiffers))?;
        let is_listed = listed.allow(&other);
        return is_listed
            .then_some(other)
            .ok_or(ReplyRefusal::ReplyToDiffers);
    }
    let from = address(&context.from)?;
    let is_allowed = is_proven || listed.allow(&from);
    is_allowed
        .then_some(from)
        .ok_or(ReplyRefusal::SenderUnproven)
}

/// The subject: `Re: ` and that of the mail, which may have it already.
pub(super) fn subject(context: &ReplyContext, of_template: &str) -> String {
    let subject = context.subject.trim();
    if subject.is_empty() {
        return of_template.to_owned();
    }
    let begins = subject.get(..3).unwrap_or_default();
    let subject = if begins.eq_ignore_ascii_case("re:") {
        subject.to_owned()
    } else {
        format!("Re: {subject}")
    };
    subject.chars().take(LONGEST_SUBJECT).collect()
}

/// RFC 5322, section 3.6.4: the ids of the mail's own references, and then its own.
pub(super) fn answered(context: &ReplyContext) -> Answered {
    let mut references = context.references.clone();
    references.extend(context.message_id.clone());
    Answered {
        message_id: context.message_id.clone(),
        references,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> ReplyContext {
        ReplyContext {
            from: "user@example.com".to_owned(),
            reply_to: None,
            message_id: Some("<p2@mail.example.org>".to_owned()),
            references: vec!["<p0@x>".to_owned(), "<p1@y>".to_owned()],
            subject: "Where is order 4821?".to_owned(),
        }
    }

    fn listed(entries: &[&str]) -> Recipients {
        let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
        Recipients::parse(&entries).unwrap()
    }

    #[test]
    fn proven_or_listed_sender_is_answered() {
        let none = listed(&[]);
        let to = |is_proven, list: &Recipients| recipient(&context(), is_proven, list);
        assert_eq!(to(true, &none).unwrap().as_str(), "user@example.com");
        assert_eq!(to(false, &none), Err(ReplyRefusal::SenderUnproven));
        assert!(to(false, &listed(&["@example.com"])).is_ok());
    }

    #[test]
    fn other_reply_address_is_used_only_if_it_is_listed() {
        let asks = ReplyContext {
            reply_to: Some("victim@example.org".to_owned()),
            ..context()
        };
        let refused = recipient(&asks, true, &listed(&["@example.com"]));
        assert_eq!(refused, Err(ReplyRefusal::ReplyToDiffers));
        let to = recipient(&asks, false, &listed(&["victim@example.org"]));
        assert_eq!(to.unwrap().as_str(), "victim@example.org");
    }

    #[test]
    fn subject_gets_one_re() {
        let of = |subject: &str| {
            let context = ReplyContext {
                subject: subject.to_owned(),
                ..context()
            };
            super::subject(&context, "Template")
        };
        assert_eq!(of("Where is it?"), "Re: Where is it?");
        assert_eq!(of("RE: Where is it?"), "RE: Where is it?");
        assert_eq!(of("  "), "Template");
        assert_eq!(of("é"), "Re: é");
        assert_eq!(of(&"x".repeat(500)).chars().count(), LONGEST_SUBJECT);
    }

    #[test]
    fn references_end_with_the_id_of_the_mail() {
        let all = answered(&context());
        assert_eq!(all.message_id.as_deref(), Some("<p2@mail.example.org>"));
        assert_eq!(
            all.references,
            ["<p0@x>", "<p1@y>", "<p2@mail.example.org>"]
        );
        let nameless = answered(&ReplyContext {
            message_id: None,
            ..context()
        });
        assert_eq!(nameless.message_id, None);
        assert_eq!(nameless.references, ["<p0@x>", "<p1@y>"]);
    }
}
