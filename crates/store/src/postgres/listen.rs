//! News from other processes: one listening connection for each process that
//! has watches, opened with the first of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio_util::sync::CancellationToken;

use crate::arrivals::Arrivals;
use crate::fault::describe_driver;

/// What news is sent on; the payload is the inbox.
pub(super) const CHANNEL: &str = "maillatch_arrivals";

/// The listening task, which may not have begun yet.
pub(super) struct Listener {
    options: PgConnectOptions,
    arrivals: Arrivals,
    is_started: AtomicBool,
    stop: CancellationToken,
}

impl Listener {
    pub(super) fn new(options: PgConnectOptions, arrivals: Arrivals) -> Self {
        Self {
            options,
            arrivals,
            is_started: AtomicBool::new(false),
            stop: CancellationToken::new(),
        }
    }

    /// Begins to listen, if that was not done before.
    pub(super) fn start(&self) {
        if self.is_started.swap(true, Ordering::AcqRel) {
            return;
        }
        let (options, arrivals) = (self.options.clone(), self.arrivals.clone());
        let listening = self.stop.clone().run_until_cancelled_owned(async move {
            // A pool of its own: a listener that keeps one of the service's
            // connections for good would take it from the deliveries.
            let pool = PgPoolOptions::new()
                .max_connections(1)
                .acquire_timeout(Duration::from_secs(2))
                .max_lifetime(None)
                .idle_timeout(None)
                .connect_lazy_with(options);
            listen_for_ever(&pool, &arrivals).await;
        });
        tokio::spawn(listening);
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Connects, listens and connects again, without end: watches tick meanwhile.
async fn listen_for_ever(pool: &PgPool, arrivals: &Arrivals) {
    const FIRST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(5);
    let mut wait = FIRST;
    loop {
        match PgListener::connect_with(pool).await {
            Ok(listener) => {
                wait = FIRST;
                let lost = listen(listener, arrivals).await;
                tracing::warn!(cause = lost, "listening for arrivals was cut, trying again");
            }
            Err(error) => {
                let cause = describe_driver(&error);
                tracing::warn!(cause, "cannot listen for arrivals, trying again");
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST);
    }
}

/// Passes news on until the connection is lost; tells why.
async fn listen(mut listener: PgListener, arrivals: &Arrivals) -> String {
    // The loop around this one reconnects, and wakes every watch when it has.
    listener.eager_reconnect(false);
    if let Err(error) = listener.listen(CHANNEL).await {
        return describe_driver(&error);
    }
    // Whatever came before this moment was not heard.
    arrivals.announce_all();
    loop {
        match listener.try_recv().await {
            Ok(Some(news)) => arrivals.announce(news.payload()),
            Ok(None) => return "the connection ended".to_owned(),
            Err(error) => return describe_driver(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use pipeline::InboxId;
    use sqlx::Connection;
    use testkit::patience::soon;
    use testkit::server::shared_url;

    use super::super::connect;
    use super::*;
    use crate::settings::Settings;

    /// Without a tick, only the wire can wake a watch.
    #[tokio::test]
    async fn news_comes_over_the_wire_and_also_after_it_was_cut() {
        let name = format!("listen-{}", uuid::Uuid::new_v4());
        let settings = Settings {
            application_name: name.clone(),
            ..Settings::new(shared_url("TEST_DATABASE_URL").into())
        };
        let arrivals = Arrivals::default();
        let inbox: InboxId = format!("{}@inbox.test", uuid::Uuid::new_v4().simple())
            .parse()
            .unwrap();
        let mut watch = arrivals.watch(&inbox, None);
        let listener = Listener::new(connect::options(&settings).unwrap(), arrivals.clone());
        listener.start();
        soon("listening begins with a wake", watch.news()).await;

        let mut other = sqlx::PgConnection::connect(&shared_url("TEST_DATABASE_URL"))
            .await
            .unwrap();
        sqlx::query("SELECT pg_notify($1, $2)")
            .bind(CHANNEL)
            .bind(inbox.as_str())
            .execute(&mut other)
            .await
            .unwrap();
        soon("the notification wakes", watch.news()).await;

        let ended: Vec<bool> = sqlx::query_scalar(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
        )
        .bind(&name)
        .fetch_all(&mut other)
        .await
        .unwrap();
        assert_eq!(ended, [true]);
        soon("listening again begins with a wake", watch.news()).await;
        listener.stop();
    }
}
