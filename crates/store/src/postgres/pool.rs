//! Connections are lent and returned, both within a bounded time.
//!
//! The driver's pool pings a connection that is returned, and waits for the answer
//! without a timeout. A connection that freezes at this moment would keep its place in
//! the pool for good, so the return is done here: if it takes too long, the connection
//! is dropped and its place is free.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::PgPool;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::link::{Link, Route};
use crate::backend::ConnectionCount;

/// How long the return of a connection may take.
const RETURN: Duration = Duration::from_secs(5);

/// The connections of a process.
#[derive(Clone)]
pub(super) struct Pool {
    pool: PgPool,
    route: Route,
}

impl Pool {
    pub(super) fn over(pool: PgPool, route: Route) -> Self {
        Self { pool, route }
    }

    /// Lends a connection, or fails within the pool's timeout.
    pub(super) async fn lend(&self) -> Result<Lent, sqlx::Error> {
        let connection = self.pool.acquire().await?;
        Ok(Lent(Link::new(connection, self.route)))
    }

    /// How many connections there are.
    pub(super) fn connections(&self) -> ConnectionCount {
        ConnectionCount::of(&self.pool)
    }

    /// Closes every connection; waits for those that are lent.
    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A connection on loan.
pub(crate) struct Lent(Link);

impl Deref for Lent {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.0
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Link {
        &mut self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and the connection with it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(timeout(RETURN, self.0.return_to_pool()));
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Executor, Row};
    use testkit::proxy::Proxy;
    use testkit::server::shared_url;
    use testkit::wait::soon;
    use url::Url;

    use super::super::connect;
    use super::*;
    use crate::settings::Settings;

    async fn pool_of_one(url: &str) -> Pool {
        let settings = Settings {
            max_connections: 1,
            // The test waits for a place to be free again, longer than a caller would.
            acquire_timeout: 4 * RETURN,
            ..Settings::new(url.into())
        };
        let options = connect::options(&settings).unwrap();
        Pool::over(
            connect::pool(&settings, options).await.unwrap(),
            Route::Straight,
        )
    }

    #[tokio::test]
    async fn connection_returned_inside_a_transaction_is_lent_without_one() {
        let pool = pool_of_one(&shared_url("TEST_DATABASE_URL")).await;
        let mut connection = pool.lend().await.unwrap();
        connection.driver().execute("BEGIN").await.unwrap();
        drop(connection);
        // Inside a transaction, `now()` is when that began.
        let row = sqlx::raw_sql("SELECT now() = statement_timestamp() AS is_outside");
        let row = row.fetch_one(pool.lend().await.unwrap().driver()).await;
        assert!(row.unwrap().get::<bool, _>("is_outside"));
    }

    #[tokio::test]
    async fn a_connection_returned_in_a_failed_transaction_is_replaced() {
        let pool = pool_of_one(&shared_url("TEST_DATABASE_URL")).await;
        let mut connection = pool.lend().await.unwrap();
        connection.driver().execute("BEGIN").await.unwrap();
        connection
            .driver()
            .execute("SELECT 1 / 0")
            .await
            .unwrap_err();
        drop(connection);
        let mut connection = pool.lend().await.unwrap();
        connection.driver().execute("SELECT 1").await.unwrap();
    }

    #[tokio::test]
    async fn connection_that_freezes_while_it_is_returned_frees_its_place_in_the_pool() {
        let mut url = Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
        let server = format!("127.0.0.1:{}", url.port().unwrap_or(5432));
        let proxy = Proxy::to(&server).await;
        url.set_port(Some(proxy.address().port())).unwrap();
        let pool = pool_of_one(url.as_str()).await;
        let mut connection = pool.lend().await.unwrap();
        proxy.freeze();
        soon("the connection is frozen", async {
            let wait = Duration::from_millis(200);
            while timeout(wait, connection.driver().execute("SELECT 1"))
                .await
                .is_ok()
            {}
        })
        .await;
        drop(connection);
        proxy.heal();
        let mut connection = soon("a place", pool.lend()).await.unwrap();
        connection.driver().execute("SELECT 1").await.unwrap();
    }
}
