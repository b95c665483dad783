//! A database that was restored from a backup of before the send. The key of an intent
//! does not depend on the database, so a provider that knows keys recognises the mail.

use std::collections::BTreeSet;

use super::office::{ALL, Desk, Office, Profile, READY, SENT, on_each_database};

on_each_database!(
    database_from_before_the_order_sends_under_the_same_key,
    database_from_before_the_dispatch_sends_the_same_bytes,
);

/// The providers that know keys.
const KEYED: [&str; 5] = ["resend", "agentmail", "nylas", "brevo", "sparkpost"];

impl Office {
    async fn save(&mut self) {
        self.harness.kill_all().await;
        self.harness.database.save();
        self.harness.deployment.revive().await.unwrap();
    }

    async fn restore(&mut self) {
        self.harness.kill_all().await;
        self.harness.database.restore();
        self.harness.deployment.revive().await.unwrap();
    }
}

impl Desk {
    fn keys(&self) -> BTreeSet<String> {
        let bodies = self.provider.bodies();
        bodies.into_iter().map(|(key, _)| key).collect()
    }

    /// Checks that the provider was asked again, and that there is one mail.
    fn expect_one_mail(&self) {
        let name = &self.name;
        assert_eq!(self.accepted(), 1, "{name}");
        assert!(self.provider.requests() > 1, "{name} was asked once");
        assert_eq!(self.keys().len(), 1, "{name}");
    }
}

/// The agent asks again, in other words, and the restored database does not know better.
/// The provider sees another body under the same key. Resend says that it accepted the
/// first; at the others it is looked up.
async fn database_from_before_the_order_sends_under_the_same_key(profile: Profile) {
    let mut office = Office::open_with(profile, &KEYED, "").await;
    office.save().await;
    let first = office.order_by_all("o1", "paid").await;
    office.harness.until_count(SENT, office.all()).await;
    office.restore().await;
    assert_eq!(office.harness.count(ALL).await, 0);
    let second = office.order_by_all("o1", "sent").await;
    assert!(
        second.iter().all(|id| !first.contains(id)),
        "the rows are others"
    );
    office.harness.until_count(SENT, office.all()).await;
    office.senders.iter().for_each(Desk::expect_one_mail);
    office.harness.end().await;
}

/// The rows are ready in the backup, so no caller has to ask again.
async fn database_from_before_the_dispatch_sends_the_same_bytes(profile: Profile) {
    let mut office = Office::open_with(profile, &KEYED, "").await;
    for sender in &office.senders {
        sender.provider.refuse().await;
    }
    office.order_by_all("o1", "paid").await;
    office.harness.until_count(READY, office.all()).await;
    office.save().await;
    for sender in &office.senders {
        sender.provider.open().await;
    }
    office.harness.until_count(SENT, office.all()).await;
    office.restore().await;
    office.harness.until_count(SENT, office.all()).await;
    for sender in &office.senders {
        sender.expect_one_mail();
        sender.same_bytes();
    }
    office.harness.end().await;
}
