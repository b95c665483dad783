//! Notifications from other processes: one listening connection for each process that
//! has watches, opened with the first of them.
//!
//! No watch misses a change for longer than a second, whatever happens to the
//! connection. A silent connection is pinged; while there is none, every watch is woken
//! again and again to look for itself, each at a random moment.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pipeline::Tasks;
use sqlx::Executor;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::fault::describe_driver;
use crate::watches::{RECHECK_SPREAD, Watches};

/// The channel of the notifications; the payload is the inbox. Statements that notify
/// name it literally.
pub(super) const CHANNEL: &str = "maillatch_arrivals";

/// How long a connection may be silent before it is pinged, how long it has to answer,
/// and how often watches are woken while there is none. They look within as long again,
/// and three times this is less than a second.
const CHECK_EVERY: Duration = RECHECK_SPREAD;

/// The listening task, which may not have begun yet.
pub(super) struct Listener {
    options: PgConnectOptions,
    watches: Watches,
    tasks: Tasks,
    /// The runtime that opened the database. The first watch may begin on a thread of
    /// the HTTP server, which ends earlier.
    runtime: Handle,
    is_started: AtomicBool,
    stop: CancellationToken,
}

impl Listener {
    pub(super) fn new(options: PgConnectOptions, watches: Watches, tasks: Tasks) -> Self {
        Self {
            options,
            watches,
            tasks,
            runtime: Handle::current(),
            is_started: AtomicBool::new(false),
            stop: CancellationToken::new(),
        }
    }

    /// Begins to listen, if that was not done before.
    pub(super) fn start(&self) {
        if self.is_started.swap(true, Ordering::AcqRel) {
            return;
        }
        let (options, watches) = (self.options.clone(), self.watches.clone());
        let tasks = self.tasks.clone();
        let listening = self.stop.clone().run_until_cancelled_owned(async move {
            let start = || listen_and_reconnect(&options, &watches);
            tasks.keep_running("listener", sleep, start).await;
        });
        self.runtime.spawn(listening);
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

/// Connects, listens and connects again, without end.
async fn listen_and_reconnect(options: &PgConnectOptions, watches: &Watches) {
    const FIRST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(5);
    let mut wait = FIRST;
    loop {
        match recheck_until(watches, Box::pin(connect(options))).await {
            Ok(listener) => {
                wait = FIRST;
                // Notifications before this moment were not received.
                watches.recheck_all();
                let lost = listen(listener, watches).await;
                tracing::warn!(
                    cause = lost,
                    "lost the connection that listens for notifications; reconnecting"
                );
            }
            Err(error) => {
                let cause = describe_driver(&error);
                tracing::warn!(cause, "cannot listen for notifications; retrying");
            }
        }
        recheck_until(watches, sleep(wait)).await;
        wait = (wait * 2).min(LONGEST);
    }
}

/// Waits for something while no notification can be received.
async fn recheck_until<T>(watches: &Watches, something: impl Future<Output = T>) -> T {
    let mut something = pin!(something);
    loop {
        watches.recheck_all();
        if let Ok(output) = timeout(CHECK_EVERY, &mut something).await {
            return output;
        }
    }
}

/// A listening connection in a pool of its own: it would be missing in the pool of the
/// service, and a dead one must not block a new one.
async fn connect(options: &PgConnectOptions) -> Result<PgListener, sqlx::Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(2))
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_lazy_with(options.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    // The loop above reconnects, and wakes every watch when it has.
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

/// Passes notifications on until the connection is lost; returns the cause.
async fn listen(mut listener: PgListener, watches: &Watches) -> String {
    loop {
        match timeout(CHECK_EVERY, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => watches.wake(notification.payload()),
            Ok(Ok(None)) => return "the connection ended".to_owned(),
            Ok(Err(error)) => return describe_driver(&error),
            // Silent: nothing to report, or the connection is dead.
            Err(_elapsed) => match timeout(CHECK_EVERY, listener.execute("SELECT 1")).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return describe_driver(&error),
                Err(_elapsed) => return "the connection does not answer".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use pipeline::{InboxId, InboxWatch};
    use sqlx::{Connection, PgConnection};
    use testkit::proxy::Proxy;
    use testkit::server::shared_url;
    use testkit::wait::soon;
    use url::Url;
    use uuid::Uuid;

    use super::super::connect;
    use super::*;
    use crate::settings::Settings;

    struct Listening {
        listener: Listener,
        inbox: InboxId,
        watch: Box<dyn InboxWatch>,
        name: String,
        other: PgConnection,
    }

    async fn listening(url: &str) -> Listening {
        let name = format!("listen-{}", Uuid::new_v4());
        let settings = Settings {
            application_name: name.clone(),
            ..Settings::new(url.into())
        };
        let inbox = format!("{}@inbox.test", Uuid::new_v4().simple());
        let inbox: InboxId = inbox.parse().unwrap();
        let watches = Watches::default();
        let watch = watches.watch(&inbox);
        let listener = Listener::new(
            connect::options(&settings).unwrap(),
            watches,
            Tasks::default(),
        );
        listener.start();
        Listening {
            listener,
            inbox,
            watch,
            name,
            other: PgConnection::connect(&shared_url("TEST_DATABASE_URL"))
                .await
                .unwrap(),
        }
    }

    impl Listening {
        /// Waits until a session listens and has been silent, so that from now on only
        /// the connection can wake a watch.
        async fn settle(&mut self) {
            soon("one session listens and is silent", async {
                while timeout(2 * CHECK_EVERY, self.watch.changed()).await.is_ok()
                    || self.sessions().await != 1
                {}
            })
            .await;
        }

        async fn sessions(&mut self) -> i64 {
            sqlx::query_scalar("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1")
                .bind(&self.name)
                .fetch_one(&mut self.other)
                .await
                .unwrap()
        }

        async fn notify(&mut self) {
            sqlx::query("SELECT pg_notify($1, $2)")
                .bind(CHANNEL)
                .bind(self.inbox.as_str())
                .execute(&mut self.other)
                .await
                .unwrap();
        }
    }

    #[tokio::test]
    async fn notifications_wake_watches_also_after_a_reconnect() {
        let mut this = listening(&shared_url("TEST_DATABASE_URL")).await;
        this.settle().await;
        this.notify().await;
        soon("the notification wakes", this.watch.changed()).await;

        sqlx::query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
        )
        .bind(&this.name)
        .execute(&mut this.other)
        .await
        .unwrap();
        soon("the loss wakes", this.watch.changed()).await;
        this.settle().await;
        this.notify().await;
        soon("the notification wakes again", this.watch.changed()).await;
        this.listener.stop();
    }

    #[tokio::test]
    async fn watches_are_woken_while_the_connection_is_frozen() {
        let mut url = Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
        let server = format!("127.0.0.1:{}", url.port().unwrap_or(5432));
        let proxy = Proxy::to(&server).await;
        url.set_port(Some(proxy.address().port())).unwrap();
        let mut this = listening(url.as_str()).await;
        this.settle().await;
        proxy.freeze();
        for _ in 0..3 {
            soon("the recheck wakes", this.watch.changed()).await;
        }
        proxy.heal();
        // The frozen session and the new one.
        soon("a session listens again", async {
            while timeout(2 * CHECK_EVERY, this.watch.changed()).await.is_ok()
                || this.sessions().await != 2
            {}
        })
        .await;
        this.notify().await;
        soon("the notification wakes", this.watch.changed()).await;
        this.listener.stop();
    }
}
