use std::sync::Mutex;

use async_trait::async_trait;
use pipeline::{Discarded, Freed, SourceName};
use prometheus_client::registry::Registry;

use super::*;

/// Cannot delete one kind, and writes down what it is asked for.
struct Refusing {
    kind: RetentionKind,
    asked: Mutex<Vec<RetentionKind>>,
}

#[async_trait]
impl RetentionLog for Refusing {
    async fn discard(
        &self,
        what: RetentionKind,
        _keep: &RetentionPeriods,
        _limit: u32,
    ) -> Result<Discarded, StoreError> {
        self.asked.lock().unwrap().push(what);
        if what == self.kind {
            return Err(StoreError::Broken("refused".into()));
        }
        Ok(Discarded::default())
    }

    async fn unfinished_bytes(&self) -> Result<Vec<(SourceName, u64)>, StoreError> {
        Ok(Vec::new())
    }

    async fn finished_bytes(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn free_bodies(&self, _bytes: u64, _limit: u32) -> Result<Freed, StoreError> {
        Ok(Freed::default())
    }
}

fn keep_everything() -> RetentionPeriods {
    RetentionPeriods {
        consumed_values: Duration::MAX,
        expired_values: Duration::MAX,
        done_bodies: Duration::MAX,
        dead_letter_bodies: Duration::MAX,
        items: Duration::MAX,
        known: Duration::MAX,
        consumes: Duration::MAX,
        send_contents: Duration::MAX,
        send_events: Duration::MAX,
        intents: Duration::MAX,
    }
}

#[tokio::test]
async fn kind_that_fails_does_not_stop_the_later_kinds() {
    let retention = Arc::new(Refusing {
        kind: RetentionKind::Items,
        asked: Mutex::default(),
    });
    let janitor = Janitor {
        retention: Arc::clone(&retention) as Arc<dyn RetentionLog>,
        meters: Meters::register(&mut Registry::default()),
        keep: keep_everything(),
        quota: Arc::default(),
        every: Duration::from_mins(1),
    };
    let cleared = janitor.clear().await;
    assert!(matches!(cleared, Err(StoreError::Broken(_))), "{cleared:?}");
    assert_eq!(*retention.asked.lock().unwrap(), RetentionKind::ALL);
}
