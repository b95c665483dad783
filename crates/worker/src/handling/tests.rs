//! Why a mail is not answered, and which thread it belongs to.

use pipeline::{Reason, SenderProof};

use super::*;

fn settings() -> ReplySettings {
    ReplySettings {
        rules: Vec::new(),
        keeps_context: true,
        own_addresses: ["shop@mail.example.com".to_owned()].into(),
    }
}

fn identity() -> Identity {
    Identity {
        message_id: None,
        content: [7; 32],
    }
}

fn headers() -> ReplyHeaders {
    ReplyHeaders {
        message_id: Some("<1@example.com>".to_owned()),
        to: Some("agent@inbox.test".to_owned()),
        subject: "Where is it?".to_owned(),
        ..ReplyHeaders::default()
    }
}

fn sender(address: Option<&str>) -> Sender {
    Sender {
        address: address.map(str::to_owned),
        domain: Some("example.com".to_owned()),
        proof: SenderProof::Missing(Reason::new("unchecked")),
    }
}

fn handled_with(settings: &ReplySettings, headers: &ReplyHeaders, from: Option<&str>) -> Handled {
    let identity = identity();
    let letter = Letter {
        headers,
        identity: &identity,
        is_own_echo: false,
    };
    let (sender, inbox) = (sender(from), "agent@inbox.test".parse().unwrap());
    let effects = letter.effects(settings, &[], &sender, &[]);
    let key = ServerKey::new([1; 32]);
    letter.handled(settings, effects, &sender, (&key, &inbox))
}

fn handled(headers: &ReplyHeaders, from: Option<&str>) -> Handling {
    handled_with(&settings(), headers, from).handling
}

#[test]
fn mail_of_a_person_keeps_what_a_reply_needs() {
    let kept = handled(&headers(), Some("user@example.com"));
    assert_eq!(kept.no_reply, None);
    let context = kept.context.unwrap();
    assert_eq!(context.from, "user@example.com");
    assert_eq!(context.message_id.as_deref(), Some("<1@example.com>"));
    assert_eq!(context.subject, "Where is it?");
}

#[test]
fn each_reason_not_to_answer_keeps_no_context() {
    let automated = ReplyHeaders {
        automated: Some("auto_submitted"),
        ..headers()
    };
    let list = ReplyHeaders {
        list: Some("list_header"),
        ..headers()
    };
    for (headers, from, refusal) in [
        (
            &automated,
            Some("user@example.com"),
            ReplyRefusal::Automated,
        ),
        (&list, Some("user@example.com"), ReplyRefusal::List),
        (
            &headers(),
            Some("shop@mail.example.com"),
            ReplyRefusal::OwnAddress,
        ),
        (
            &headers(),
            Some("no-reply@example.com"),
            ReplyRefusal::NoReplyAddress,
        ),
        (
            &headers(),
            Some("MAILER-DAEMON@example.com"),
            ReplyRefusal::NoReplyAddress,
        ),
        (&headers(), None, ReplyRefusal::NoSender),
    ] {
        let from = from.map(str::to_ascii_lowercase);
        let kept = handled(headers, from.as_deref());
        assert_eq!(kept.no_reply, Some(refusal));
        assert_eq!(kept.context, None);
    }
}

#[test]
fn replies_to_one_root_from_one_person_are_one_thread() {
    let first = handled(&headers(), Some("user@example.com")).thread;
    let later = ReplyHeaders {
        message_id: Some("<9@example.com>".to_owned()),
        references: vec!["<1@example.com>".to_owned(), "<2@x>".to_owned()],
        ..headers()
    };
    assert_eq!(handled(&later, Some("user@example.com")).thread, first);
    let stranger = handled(&later, Some("other@example.com")).thread;
    assert_ne!(stranger, first, "a forged reference is another thread");
    let other = ReplyHeaders {
        message_id: Some("<5@example.com>".to_owned()),
        ..headers()
    };
    let other = handled(&other, Some("user@example.com")).thread;
    assert_ne!(other.unwrap().0, first.unwrap().0);
    assert_eq!(other.unwrap().1, first.unwrap().1, "the same person");
}

#[test]
fn mail_from_our_own_address_belongs_to_the_thread_of_its_recipient() {
    let question_thread = handled(&headers(), Some("user@example.com")).thread;
    let our_answer = ReplyHeaders {
        message_id: Some("<2@x>".to_owned()),
        references: vec!["<1@example.com>".to_owned()],
        to: Some("user@example.com".to_owned()),
        ..headers()
    };
    let our_answer = handled(&our_answer, Some("shop@mail.example.com"));
    assert!(our_answer.is_ours);
    assert_eq!(our_answer.thread, question_thread);
}

#[test]
fn without_a_sender_nothing_is_kept() {
    let none = ReplySettings::default();
    let automated = ReplyHeaders {
        automated: Some("auto_submitted"),
        ..headers()
    };
    for headers in [&headers(), &automated] {
        let kept = handled_with(&none, headers, Some("user@example.com"));
        assert!(kept.handling.is_empty());
    }
}
