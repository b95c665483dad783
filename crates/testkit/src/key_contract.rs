//! The contract of a database for API keys. Its tests are made as those of
//! [`crate::store_contract`].

use std::sync::Arc;
use std::time::Duration;

use pipeline::{ConsumerId, Created, KeyLog, NewKey, Permission, Request, RequestKind};

use crate::store_contract::{StoreSubject, must};
use crate::wait;

/// A database under test with API keys.
pub trait KeySubject: StoreSubject {
    /// Its keys.
    fn keys(&self) -> Arc<dyn KeyLog>;
}

/// Makes a test of every rule of the contract for a [`KeySubject`].
#[macro_export]
macro_rules! key_contract {
    ($subject:ty) => {
        $crate::key_contract!(
            $subject:
            key_is_found_by_its_id_until_it_is_revoked,
            expired_key_is_not_found,
            name_has_one_valid_key_at_a_time,
            of_many_concurrent_creations_of_one_name_one_succeeds,
            repeated_request_creates_no_second_key,
            use_of_a_key_is_recorded_every_few_minutes,
        );
    };
    ($subject:ty: $($rule:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $rule() {
                let subject = <$subject as $crate::store_contract::StoreSubject>::open().await;
                $crate::key_contract::$rule(&subject).await;
                $crate::store_contract::StoreSubject::close(&subject).await;
            }
        )+
    };
}

fn key(id: &str, name: &str) -> NewKey {
    NewKey {
        id: id.to_owned(),
        name: consumer(name),
        hash: [7; 32],
        permissions: vec![Permission::Feed, Permission::Consume],
        inboxes: vec!["a@inbox.test".to_owned(), "b@inbox.test".to_owned()],
        expires_in: None,
        asked: None,
    }
}

fn consumer(name: &str) -> ConsumerId {
    must(name.parse())
}

/// A key is returned as it was written. A revoked key is only listed.
pub async fn key_is_found_by_its_id_until_it_is_revoked(subject: &dyn KeySubject) {
    let keys = subject.keys();
    let made = must(keys.create_key(key("k1", "a")).await).fresh();
    let live = must(keys.live_key("k1").await).map(|live| {
        assert_eq!(live.hash, [7; 32]);
        assert_eq!(live.expires_in, None);
        live.view
    });
    assert_eq!(live, made);
    let view = made.as_ref().map(|view| (&view.permissions, &view.inboxes));
    let wanted = key("k1", "a");
    assert_eq!(view, Some((&wanted.permissions, &wanted.inboxes)));
    assert!(must(keys.live_key("k2").await).is_none());
    let revoked = must(keys.revoke_key(&consumer("a")).await);
    assert!(revoked.is_some_and(|view| view.revoked_at.is_some()));
    assert!(must(keys.live_key("k1").await).is_none());
    assert_eq!(must(keys.revoke_key(&consumer("a")).await), None);
    assert_eq!(must(keys.keys().await).len(), 1);
}

/// A key expires by the database's clock.
pub async fn expired_key_is_not_found(subject: &dyn KeySubject) {
    let keys = subject.keys();
    let hour = Duration::from_hours(1);
    for (digest, name, expires_in) in [("k0", "b", hour), ("k1", "a", Duration::from_millis(50))] {
        let mut key = key(digest, name);
        key.expires_in = Some(expires_in);
        must(keys.create_key(key).await);
    }
    wait::until("the key expires", async || {
        must(keys.live_key("k1").await).is_none().then_some(())
    })
    .await;
    let left = must(keys.live_key("k0").await).and_then(|live| live.expires_in);
    assert!(left.is_some_and(|left| left <= hour));
    let all = must(keys.keys().await);
    let expired = all.iter().filter(|view| view.is_expired);
    assert_eq!((expired.count(), all.len()), (1, 2));
    // Its name is free again.
    assert!(
        must(keys.create_key(key("k2", "a")).await)
            .fresh()
            .is_some()
    );
}

/// A name gets a second key only after the first one was revoked.
pub async fn name_has_one_valid_key_at_a_time(subject: &dyn KeySubject) {
    let keys = subject.keys();
    assert!(
        must(keys.create_key(key("k1", "a")).await)
            .fresh()
            .is_some()
    );
    assert!(
        must(keys.create_key(key("k2", "a")).await)
            .fresh()
            .is_none()
    );
    assert!(
        must(keys.create_key(key("k1", "b")).await)
            .fresh()
            .is_none()
    );
    must(keys.revoke_key(&consumer("a")).await);
    assert!(
        must(keys.create_key(key("k2", "a")).await)
            .fresh()
            .is_some()
    );
    assert!(must(keys.live_key("k1").await).is_none());
    assert!(must(keys.live_key("k2").await).is_some());
}

/// The unique index decides, not a prior read.
pub async fn of_many_concurrent_creations_of_one_name_one_succeeds(subject: &dyn KeySubject) {
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let keys = subject.keys();
            tokio::spawn(async move { keys.create_key(key(&format!("k{n}"), "a")).await })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        made += usize::from(must(must(task.await)).fresh().is_some());
    }
    assert_eq!(made, 1);
}

/// A retry is recognised, and another name under the same idempotency key is refused.
pub async fn repeated_request_creates_no_second_key(subject: &dyn KeySubject) {
    let keys = subject.keys();
    let asked = |id: &str, name: &str, tag| NewKey {
        asked: Some(Request {
            consumer: consumer("root"),
            kind: RequestKind::Key,
            key: must("k".parse()),
            tag: [tag; 16],
        }),
        ..key(id, name)
    };
    let made = must(keys.create_key(asked("k1", "a", 1)).await).fresh();
    let again = must(keys.create_key(asked("k2", "a", 1)).await);
    assert_eq!(again, made.map_or(Created::Refused, Created::Known));
    let other = must(keys.create_key(asked("k3", "b", 2)).await);
    assert_eq!(other, Created::KeyReused);
    assert_eq!(must(keys.keys().await).len(), 1);
}

/// Not with every request: once in a few minutes is enough.
pub async fn use_of_a_key_is_recorded_every_few_minutes(subject: &dyn KeySubject) {
    let keys = subject.keys();
    must(keys.create_key(key("k1", "a")).await);
    let is_stale = async || must(keys.live_key("k1").await).map(|live| live.use_is_stale);
    let used_at = async || {
        let all = must(keys.keys().await);
        all.first().and_then(|view| view.used_at)
    };
    assert_eq!((is_stale().await, used_at().await), (Some(true), None));
    must(keys.key_used("k1").await);
    let first = used_at().await;
    assert!(first.is_some());
    assert_eq!(is_stale().await, Some(false));
    must(keys.key_used("k1").await);
    assert_eq!(used_at().await, first);
}
