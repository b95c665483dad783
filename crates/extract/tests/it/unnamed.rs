//! Links whose words are in no lexicon: the model decides about them alone.

use extract::{AbstainReason, Extraction, LinkKind, Policy, extract};

fn link(text: &str) -> Extraction<extract::Link> {
    let raw = format!("From: Nuvo <post@nuvo.example>\nSubject: Almost there\n\n{text}\n");
    extract(raw.as_bytes(), &Policy::default()).unwrap().link
}

#[test]
fn link_that_the_mail_asks_to_follow_is_returned_without_a_known_word() {
    let found = link(
        "Hi,\n\nOne thing is left to do. Tap the line below, so that we know this mailbox is \
         yours:\n\nhttps://nuvo.example/k/9f2c71d0b6a84e53a1f7\n\nIt works for one hour.\n\nNuvo",
    );
    let Extraction::Found(found) = found else {
        panic!("{found:?}");
    };
    assert_eq!(found.kind, LinkKind::Unnamed);
    assert_eq!(found.url, "https://nuvo.example/k/9f2c71d0b6a84e53a1f7");
}

#[test]
fn link_of_a_newsletter_is_not_returned() {
    let none = link(
        "Hi,\n\nThree recipes for the weekend are on our blog:\n\n\
         https://nuvo.example/blog/9f2c71d0b6a84e53a1f7\n\nEnjoy!\n\nNuvo",
    );
    assert!(
        matches!(
            none,
            Extraction::Nothing(AbstainReason::NotConvincing | AbstainReason::NoCandidate)
        ),
        "{none:?}"
    );
}
