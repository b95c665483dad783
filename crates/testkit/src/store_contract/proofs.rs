//! A proven mail counts more than an unproven one.

use pipeline::{
    AttemptConsumed, AttemptId, AttemptStatus, Consumed, InboxId, NewMessage, Reason, Sender,
    SenderProof,
};

use super::attempts::{opened, value};
use super::{Seams, StoreSubject, code, inbox, mail, must, request, resend, suited};

/// A stranger who knows the address of an attempt could otherwise replace its value.
pub async fn unproven_mail_does_not_supersede_proven_mail(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    bring(&seams, proven(&to, "m1", "111111", attempt)).await;
    bring(&seams, unproven(&to, "m2", "222222", attempt)).await;
    assert_eq!(value(seams.take(attempt, "a", "k").await).0, "111111");
    assert_eq!(seams.status(attempt).await, AttemptStatus::Consumed);
}

/// The unproven mail may carry a later time of receipt.
pub async fn proven_mail_supersedes_unproven_mail_of_any_time(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let opened_at = seams.look(attempt).await.opened_at;
    let delivery = seams.new_delivery("m1").await;
    seams.clock_passes(opened_at).await;
    bring(&seams, unproven(&to, "m2", "222222", attempt)).await;
    let (claim, _) = seams.claim(delivery, super::LONG).await;
    let early = proven(&to, "m1", "111111", attempt);
    seams.complete(claim, super::held(vec![early])).await;
    assert_eq!(value(seams.take(attempt, "a", "k").await).0, "111111");
}

/// The same value from a stranger must not make the sender look unproven.
pub async fn unproven_copy_of_a_proven_value_changes_nothing(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    bring(&seams, proven(&to, "m1", "111111", attempt)).await;
    bring(&seams, unproven(&to, "m2", "111111", attempt)).await;
    let proofs: Vec<SenderProof> = seams
        .items(&to)
        .await
        .into_iter()
        .map(|item| item.sender_proof)
        .collect();
    assert_eq!(proofs, [SenderProof::Dkim]);
}

/// Another mail was asked for, and the DNS did not answer when it came.
pub async fn unproven_mail_after_a_resend_supersedes_proven_mail(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    bring(&seams, proven(&to, "m1", "111111", attempt)).await;
    let received_at = must(seams.deliveries.backlog().await).at;
    seams.clock_passes(received_at).await;
    must(seams.attempts.resend(&resend(attempt, "a", "r")).await);
    let asked_at = must(seams.deliveries.backlog().await).at;
    seams.clock_passes(asked_at).await;
    bring(&seams, unproven(&to, "m2", "222222", attempt)).await;
    assert_eq!(value(seams.take(attempt, "a", "k").await).0, "222222");
}

/// Who gets a value learns whether its sender is proven, and so does a repetition.
pub async fn consume_names_the_proof_of_the_sender(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    for proof in [
        SenderProof::Dkim,
        SenderProof::Provider,
        SenderProof::Missing(Reason::new("no_signature")),
        SenderProof::default(),
    ] {
        let name = proof.as_str();
        let with_proof = |message: NewMessage| NewMessage {
            sender: Sender {
                proof: proof.clone(),
                ..message.sender.clone()
            },
            ..message
        };
        let (to, attempt) = opened(&seams, name).await;
        let arrives = proven(&to, &format!("a-{name}"), "111111", attempt);
        bring(&seams, with_proof(arrives)).await;
        let mut told = Vec::new();
        for _ in 0..2 {
            match seams.take(attempt, "a", name).await {
                AttemptConsumed::Value {
                    sender_proof,
                    is_replay,
                    ..
                } => told.push((sender_proof, is_replay)),
                other => panic!("{other:?}"),
            }
        }
        let to = inbox(&format!("list-{name}"));
        let item = code(&to, "222222");
        let id = item.id;
        let arrives = mail(&to, &format!("b-{name}"), vec![item]);
        bring(&seams, with_proof(arrives)).await;
        for _ in 0..2 {
            match seams.consume(&request(id, "b", name)).await {
                Consumed::First { sender_proof, .. } => told.push((sender_proof, false)),
                Consumed::Replayed { sender_proof, .. } => told.push((sender_proof, true)),
                other => panic!("{other:?}"),
            }
        }
        let expected = [false, true, false, true].map(|is_replay| (proof.clone(), is_replay));
        assert_eq!(told, expected);
    }
}

async fn bring(seams: &Seams, message: NewMessage) {
    let name = message.id.to_string();
    seams.process(&name, vec![message]).await;
}

fn proven(to: &InboxId, name: &str, value: &str, attempt: AttemptId) -> NewMessage {
    mail(to, name, vec![suited(code(to, value), &[attempt])])
}

fn unproven(to: &InboxId, name: &str, value: &str, attempt: AttemptId) -> NewMessage {
    NewMessage {
        sender: Sender::default(),
        ..proven(to, name, value, attempt)
    }
}
