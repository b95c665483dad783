//! Who consumed what, for the operator.

use pipeline::{ArtifactId, ArtifactKind, Consumed};

use super::attempts::{bring_for, opened};
use super::{Seams, StoreSubject, code, inbox, must, request};

/// Pages of consumes, newest first.
pub async fn consumes_are_listed_newest_first_without_values(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let mut ids = Vec::new();
    for number in 0..3 {
        let id = code_named(&seams, number).await;
        let asked = request(id, &format!("agent_{number}"), "k");
        assert!(matches!(
            seams.consume(&asked).await,
            Consumed::First { .. }
        ));
        // A retry and a refused consumer are no consumes.
        seams.consume(&asked).await;
        seams
            .consume(&request(id, "late", &format!("k{number}")))
            .await;
        ids.insert(0, id);
    }
    let unconsumed = code_named(&seams, 3).await;
    let listed = must(seams.audit.consumes(None, 10).await);
    let artifacts: Vec<ArtifactId> = listed.iter().map(|one| one.artifact).collect();
    assert_eq!(artifacts, ids);
    let consumers: Vec<&str> = listed.iter().map(|one| one.consumer.as_str()).collect();
    assert_eq!(consumers, ["agent_2", "agent_1", "agent_0"]);
    assert!(
        listed
            .iter()
            .all(|one| one.way.as_deref() == Some("artifact"))
    );
    assert!(!format!("{listed:?}").contains("49381"), "{listed:?}");
    let first = must(seams.audit.consumes(None, 1).await);
    let rest = must(seams.audit.consumes(ids.first().copied(), 10).await);
    assert_eq!([first, rest].concat(), listed);
    assert_eq!(must(seams.audit.consumes(Some(unconsumed), 10).await), []);
}

/// The record of one consume names its inbox, kind and attempt.
pub async fn consume_is_found_by_its_artifact(subject: &dyn StoreSubject) {
    let seams = subject.seams();
    let (to, attempt) = opened(&seams, "agent").await;
    let id = bring_for(&seams, &to, "m1", "493817", &[attempt]).await;
    assert_eq!(must(seams.audit.consume_of(id).await), None);
    seams.take(attempt, "agent", "k1").await;
    let record = must(seams.audit.consume_of(id).await);
    let record = record.unwrap_or_else(|| panic!("it was consumed"));
    assert_eq!(record.artifact, id);
    assert_eq!(record.consumer, "agent");
    assert_eq!(record.way.as_deref(), Some("attempt"));
    assert_eq!(record.inbox, Some(to));
    assert_eq!(record.kind, Some(ArtifactKind::Code));
    assert_eq!(record.attempt, Some(attempt));
}

async fn code_named(seams: &Seams, number: usize) -> ArtifactId {
    let to = inbox(&format!("agent-{number}"));
    let artifact = code(&to, &format!("49381{number}"));
    seams.bring(&to, &format!("m{number}"), artifact).await
}
