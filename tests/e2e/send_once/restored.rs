//! A database that was restored from a backup of before the send. The key of an intent
//! does not depend on the database, so a provider that knows keys recognises the mail.

use std::collections::BTreeSet;

use super::office::{ALL, Office, Profile, READY, SENT, on_each_database};

on_each_database!(
    database_from_before_the_order_sends_under_the_same_key,
    database_from_before_the_dispatch_sends_the_same_bytes,
);

/// The providers that know keys.
const KEYED: [&str; 5] = ["resend", "agentmail", "nylas", "brevo", "sparkpost"];

impl Office {
    async fn save(&mut self) {
        self.harness.kill_all().await;
        self.harness.save_database();
        self.harness.deployment.revive().await.unwrap();
    }

    async fn restore(&mut self) {
        self.harness.kill_all().await;
        self.harness.restore_database();
        self.harness.deployment.revive().await.unwrap();
    }

    fn keys(&self) -> BTreeSet<String> {
        let bodies = self.provider.bodies();
        bodies.into_iter().map(|(key, _)| key).collect()
    }
}

/// The agent asks again, in other words, and the restored database does not know better.
/// The provider sees another body under the same key. Resend says that it accepted the
/// first; at the others it is looked up.
async fn database_from_before_the_order_sends_under_the_same_key(profile: Profile) {
    for provider in KEYED {
        let mut office = Office::open(profile, provider).await;
        office.save().await;
        let first = office.order("o1").await;
        office.harness.until_count(SENT, 1).await;
        office.restore().await;
        assert_eq!(office.harness.count(ALL).await, 0);
        let (status, second) = office.try_order(0, "o1", "sent").await.unwrap();
        assert_eq!(status, 201, "{second}");
        assert_ne!(second["id"], first.as_str(), "the row is another one");
        office.harness.until_count(SENT, 1).await;
        assert_eq!(office.accepted(), 1, "{provider}");
        assert!(office.provider.requests() > 1);
        assert_eq!(office.keys().len(), 1, "{provider}");
        office.harness.end().await;
    }
}

/// The row is ready in the backup, so no caller has to ask again.
async fn database_from_before_the_dispatch_sends_the_same_bytes(profile: Profile) {
    for provider in KEYED {
        let mut office = Office::open(profile, provider).await;
        office.provider.refuse().await;
        office.order("o1").await;
        office.harness.until_count(READY, 1).await;
        office.save().await;
        office.provider.open().await;
        office.harness.until_count(SENT, 1).await;
        office.restore().await;
        office.harness.until_count(SENT, 1).await;
        // Brevo names no id to a repetition, so it is repeated once more and looked up.
        let requests = if provider == "brevo" { 3 } else { 2 };
        let counts = (office.accepted(), office.provider.requests());
        assert_eq!(counts, (1, requests), "{provider}");
        assert_eq!(office.keys().len(), 1, "{provider}");
        office.same_bytes();
        office.harness.end().await;
    }
}
