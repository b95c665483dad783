//! Connections are lent and returned, both within a bounded time.
//!
//! A returned connection that has no transaction and no unanswered statement is kept here
//! and lent again at once. The driver's pool would ask the server twice before it lends a
//! connection again, which costs more than many a statement.
//!
//! All others go back to the driver's pool, which ends their transactions. It waits for the
//! server without a timeout, so a connection that freezes at this moment would keep its
//! place for good. Therefore the return has a timeout; then the connection is dropped and
//! its place is free.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use sqlx::pool::PoolConnection;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connect;
use super::link::{Link, Route};
use crate::backend::ConnectionCount;
use crate::settings::Settings;

/// How long the return of a connection may take.
const RETURN: Duration = Duration::from_secs(5);
/// A connection that was idle for longer is pinged before it is lent.
const STALE: Duration = Duration::from_secs(1);
/// A connection that was idle for longer goes back to the driver's pool.
const UNUSED: Duration = Duration::from_mins(1);

/// The connections of a process.
#[derive(Clone)]
pub(super) struct Pool {
    driver: PgPool,
    route: Route,
    acquire_timeout: Duration,
    /// One for each connection that may be lent.
    places: Arc<Semaphore>,
    idle: Arc<Mutex<Stack>>,
}

/// Connections that were returned clean, the last one on top.
#[derive(Default)]
struct Stack(Vec<Idle>);

struct Idle {
    connection: PoolConnection<sqlx::Postgres>,
    since: Instant,
    opened: Instant,
}

impl Pool {
    pub(super) fn over(pool: PgPool, settings: &Settings) -> Self {
        let places = usize::try_from(settings.max_connections).unwrap_or(1);
        Self {
            driver: pool,
            route: Route::of(settings),
            acquire_timeout: settings.acquire_timeout,
            places: Arc::new(Semaphore::new(places)),
            idle: Arc::default(),
        }
    }

    /// Lends a connection, or fails within the pool's timeout.
    pub(super) async fn lend(&self) -> Result<Lent, sqlx::Error> {
        let lent = timeout(self.acquire_timeout, self.lend_next()).await;
        lent.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    async fn lend_next(&self) -> Result<Lent, sqlx::Error> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let mut place = place.map_err(|_closed| sqlx::Error::PoolClosed)?;
        while let Some(idle) = self.newest_idle() {
            let is_fresh = idle.since.elapsed() <= STALE;
            // It is on loan during the ping: when the time of the caller is over, it is returned
            // like any other connection that does not answer.
            let mut lent = self.lent(idle.connection, idle.opened, place);
            if is_fresh || lent.ping().await.is_ok() {
                return Ok(lent);
            }
            place = lent.close().ok_or(sqlx::Error::PoolClosed)?;
        }
        let connection = self.driver.acquire().await?;
        Ok(self.lent(connection, Instant::now(), place))
    }

    fn lent(
        &self,
        connection: PoolConnection<sqlx::Postgres>,
        opened: Instant,
        place: OwnedSemaphorePermit,
    ) -> Lent {
        Lent {
            link: Some(Link::new(connection, self.route)),
            place: Some(place),
            opened,
            pool: self.clone(),
        }
    }

    /// The connection that was returned last.
    fn newest_idle(&self) -> Option<Idle> {
        self.idle().0.pop()
    }

    /// Keeps a clean connection, and gives the one up that was not used for longest.
    fn keep(&self, connection: PoolConnection<sqlx::Postgres>, opened: Instant) {
        let since = Instant::now();
        let mut idle = self.idle();
        idle.0.push(Idle {
            connection,
            since,
            opened,
        });
        let is_unused = |first: &Idle| first.since.elapsed() > UNUSED;
        let given_up = if self.driver.is_closed() {
            idle.0.len()
        } else {
            usize::from(idle.0.first().is_some_and(is_unused))
        };
        let given_up: Vec<Idle> = idle.0.drain(..given_up).collect();
        drop(idle);
        return_all(given_up);
    }

    fn idle(&self) -> MutexGuard<'_, Stack> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many connections there are.
    pub(super) fn connections(&self) -> ConnectionCount {
        let kept = u32::try_from(self.idle().0.len()).unwrap_or(u32::MAX);
        let count = ConnectionCount::of(&self.driver);
        ConnectionCount {
            idle: count.idle + kept,
            used: count.used.saturating_sub(kept),
            ..count
        }
    }

    /// Closes every connection; waits for those that are lent.
    pub(super) async fn close(&self) {
        let closing = self.driver.close();
        let kept = std::mem::take(&mut *self.idle());
        drop(kept);
        closing.await;
    }
}

/// A connection on loan.
pub(crate) struct Lent {
    /// Until it is returned.
    link: Option<Link>,
    place: Option<OwnedSemaphorePermit>,
    opened: Instant,
    pool: Pool,
}

impl Lent {
    /// Whether the next borrower may have it at once. One that is old goes back to the
    /// driver's pool, which closes it.
    fn may_be_kept(&self, link: &Link) -> bool {
        link.is_clean()
            && self.opened.elapsed() < connect::LIFETIME
            && !self.pool.driver.is_closed()
    }

    /// Closes the connection, and returns its place.
    fn close(mut self) -> Option<OwnedSemaphorePermit> {
        if let Some(link) = self.link.take() {
            link.into_driver().close_on_drop();
        }
        self.place.take()
    }
}

fn return_all(idle: Vec<Idle>) {
    for idle in idle {
        return_to_driver(idle.connection, None);
    }
}

/// Returns a connection to the driver's pool within a bounded time, and then its place.
fn return_to_driver(
    mut connection: PoolConnection<sqlx::Postgres>,
    place: Option<OwnedSemaphorePermit>,
) {
    match Handle::try_current() {
        Ok(runtime) => {
            let returned = connection.return_to_pool();
            runtime.spawn(async move {
                drop(timeout(RETURN, returned).await);
                drop(place);
            });
        }
        // The process is ending.
        Err(_) => drop(connection.detach()),
    }
}

impl Deref for Lent {
    type Target = Link;

    fn deref(&self) -> &Link {
        match &self.link {
            Some(link) => link,
            None => unreachable!("a connection that was returned is not used"),
        }
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Link {
        match &mut self.link {
            Some(link) => link,
            None => unreachable!("a connection that was returned is not used"),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        if self.may_be_kept(&link) {
            self.pool.keep(link.into_driver(), self.opened);
            return;
        }
        return_to_driver(link.into_driver(), self.place.take());
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        return_all(std::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Row;
    use testkit::proxy::Proxy;
    use testkit::server::shared_url;
    use testkit::wait::soon;
    use url::Url;

    use super::*;

    async fn pool_of_one(url: &str) -> Pool {
        pool_of(1, url).await
    }

    async fn pool_of(max_connections: u32, url: &str) -> Pool {
        let settings = Settings {
            max_connections,
            // The test waits for a place to be free again, longer than a caller would.
            acquire_timeout: 4 * RETURN,
            ..Settings::new(url.into())
        };
        let options = connect::options(&settings).unwrap();
        let pool = connect::pool(&settings, options).await.unwrap();
        Pool::over(pool, &settings)
    }

    /// A proxy before the server, and the URL through it.
    async fn proxied() -> (Proxy, String) {
        let mut url = Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
        let server = format!("127.0.0.1:{}", url.port().unwrap_or(5432));
        let proxy = Proxy::to(&server).await;
        url.set_port(Some(proxy.address().port())).unwrap();
        (proxy, url.to_string())
    }

    /// The server's process of the next connection, and whether that is in a transaction:
    /// inside one, `now()` does not change.
    async fn ask(pool: &Pool) -> (i32, bool) {
        let mut connection = pool.lend().await.unwrap();
        let mut answers = Vec::new();
        for _ in 0..2 {
            let question = sqlx::query("SELECT pg_backend_pid() AS pid, now()::text AS now");
            answers.extend(connection.fetch(question).await.unwrap());
        }
        let now = |at: usize| answers[at].get::<String, _>("now");
        (answers[0].get("pid"), now(0) == now(1))
    }

    #[tokio::test]
    async fn clean_connection_is_kept_and_lent_again() {
        let pool = pool_of_one(&shared_url("TEST_DATABASE_URL")).await;
        let (pid, _) = ask(&pool).await;
        assert_eq!(pool.idle().0.len(), 1);
        assert_eq!(pool.connections().idle, 1);
        assert_eq!(ask(&pool).await, (pid, false));
        pool.close().await;
        assert!(pool.idle().0.is_empty());
        assert!(pool.lend().await.is_err());
    }

    #[tokio::test]
    async fn connection_returned_inside_a_transaction_is_lent_without_one() {
        let pool = pool_of_one(&shared_url("TEST_DATABASE_URL")).await;
        let mut connection = pool.lend().await.unwrap();
        connection.begin().await.unwrap();
        drop(connection);
        assert!(!ask(&pool).await.1);
    }

    #[tokio::test]
    async fn a_connection_returned_in_a_failed_transaction_is_replaced() {
        let pool = pool_of_one(&shared_url("TEST_DATABASE_URL")).await;
        let mut connection = pool.lend().await.unwrap();
        connection.begin().await.unwrap();
        let failing = sqlx::query("SELECT 1 / 0");
        connection.execute(failing).await.unwrap_err();
        drop(connection);
        assert!(!ask(&pool).await.1);
    }

    #[tokio::test]
    async fn connection_whose_statement_was_cancelled_is_lent_after_its_answer() {
        let pool = pool_of_one(&shared_url("TEST_DATABASE_URL")).await;
        let mut connection = pool.lend().await.unwrap();
        let slow = connection.execute(sqlx::query("SELECT pg_sleep(0.5)"));
        timeout(Duration::from_millis(50), slow).await.unwrap_err();
        drop(connection);
        assert!(pool.idle().0.is_empty(), "it is not clean");
        assert!(!ask(&pool).await.1);
    }

    #[tokio::test]
    async fn connection_that_freezes_while_it_is_returned_frees_its_place_in_the_pool() {
        let (proxy, url) = proxied().await;
        let pool = pool_of_one(&url).await;
        let mut connection = pool.lend().await.unwrap();
        proxy.freeze();
        soon("the connection is frozen", async {
            let wait = Duration::from_millis(200);
            while timeout(wait, connection.execute(sqlx::query("SELECT 1")))
                .await
                .is_ok()
            {}
        })
        .await;
        drop(connection);
        proxy.heal();
        soon("a place", Box::pin(ask(&pool))).await;
    }

    #[tokio::test]
    async fn connection_that_freezes_before_its_ping_frees_its_place_when_the_caller_gives_up() {
        let (proxy, url) = proxied().await;
        let pool = pool_of_one(&url).await;
        ask(&pool).await;
        pool.idle().0[0].since -= 2 * STALE;
        proxy.freeze();
        let hurried = Pool {
            acquire_timeout: STALE / 4,
            ..pool.clone()
        };
        let lent = hurried.lend().await;
        assert!(matches!(lent.err(), Some(sqlx::Error::PoolTimedOut)));
        proxy.heal();
        soon("a place", Box::pin(ask(&pool))).await;
    }

    #[tokio::test]
    async fn unused_connection_that_froze_frees_its_place() {
        let (proxy, url) = proxied().await;
        let pool = pool_of(2, &url).await;
        let (unused, used) = (pool.lend().await.unwrap(), pool.lend().await.unwrap());
        drop(unused);
        pool.idle().0[0].since -= 2 * UNUSED;
        proxy.freeze();
        drop(used);
        assert_eq!(pool.idle().0.len(), 1, "the unused one was given up");
        proxy.heal();
        let _used = pool.lend().await.unwrap();
        soon("a place", Box::pin(ask(&pool))).await;
    }
}
