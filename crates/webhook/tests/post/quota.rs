//! The storage quota: unfinished mail fills it, and posts are answered 503.

use std::sync::Arc;

use pipeline::StorageQuota;

use crate::harness::{Server, Setup, signed};

#[tokio::test]
async fn full_quota_of_one_source_gets_503_and_another_source_200() {
    let quota = Arc::new(StorageQuota::new(4 * StorageQuota::ROW));
    let server = Server::start_with(Setup {
        quota: Arc::clone(&quota),
        ..Setup::default()
    })
    .await;
    // Each takes a quarter and a little more.
    for id in ["msg_1", "msg_2", "msg_3"] {
        assert_eq!(server.post(id, b"{}").await.status, 200, "{id}");
    }
    let refused = server.post("msg_4", b"{}").await;
    assert!(refused.is_problem(503, "storage-full"), "{refused:?}");
    assert!(refused.has_header("retry-after: 60"), "{refused:?}");
    assert_eq!(refused.field("retryable"), true);
    // A duplicate takes nothing, but that is known only to the database.
    assert_eq!(server.post("msg_1", b"{}").await.status, 503);
    assert_eq!(server.rows().await, 3);
    let other = server.exchange(&signed("twin", "msg_1", b"{}")).await;
    assert_eq!(other.status, 200, "{other:?}");
    let other = server.exchange(&signed("twin", "msg_2", b"{}")).await;
    assert!(other.is_problem(503, "storage-full"), "{other:?}");
    // Nothing was lost: the same post is accepted once there is room.
    quota.set_unfinished([]);
    assert_eq!(server.post("msg_4", b"{}").await.status, 200);
    assert_eq!(server.rows().await, 5);
}

#[tokio::test]
async fn duplicates_take_nothing_of_the_quota() {
    let quota = Arc::new(StorageQuota::new(4 * StorageQuota::ROW));
    let server = Server::start_with(Setup {
        quota: Arc::clone(&quota),
        ..Setup::default()
    })
    .await;
    for _ in 0..8 {
        assert_eq!(server.post("msg_1", b"{}").await.status, 200);
    }
    assert_eq!(quota.warning(), None);
}
