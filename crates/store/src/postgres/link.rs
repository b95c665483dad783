//! A connection, straight to the server or through a pooler.
//!
//! A pooler such as `PgBouncer` in transaction mode gives its client a server for one
//! transaction, and then perhaps another. The driver prepares a statement and executes it
//! in two exchanges, so outside a transaction the two could reach different servers, and
//! what a session sets would be lost. Through a pooler, therefore, every statement runs in
//! a transaction, each transaction sets its own timeouts, and no statement stays prepared.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::{Connection, Executor, PgConnection};

use super::Postgres;
use crate::backend::{End, Prepared};
use crate::settings::Settings;

/// How statements reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Straight,
    ThroughPooler,
}

impl Route {
    pub(super) fn of(settings: &Settings) -> Self {
        match settings.direct_url {
            Some(_) => Self::ThroughPooler,
            None => Self::Straight,
        }
    }

    /// Begins a transaction. Straight to the server, the session has the settings already;
    /// `connect.rs` says why they are what they are.
    fn begin(self) -> &'static str {
        match self {
            Self::Straight => "BEGIN",
            Self::ThroughPooler => {
                "BEGIN;
                 SET LOCAL statement_timeout = '5s';
                 SET LOCAL lock_timeout = '2s';
                 SET LOCAL idle_in_transaction_session_timeout = '10s';
                 SET LOCAL enable_seqscan = off;
                 SET LOCAL jit = off"
            }
        }
    }
}

/// A connection.
pub(crate) struct Link {
    connection: PoolConnection<sqlx::Postgres>,
    route: Route,
    is_in_transaction: bool,
    /// Whether a statement is under way, or was not answered to its end.
    is_busy: bool,
}

impl Link {
    pub(super) fn new(connection: PoolConnection<sqlx::Postgres>, route: Route) -> Self {
        Self {
            connection,
            route,
            is_in_transaction: false,
            is_busy: false,
        }
    }

    /// Whether the server has answered everything and no transaction is open.
    pub(super) fn is_clean(&self) -> bool {
        !self.is_in_transaction && !self.is_busy
    }

    /// The driver's connection.
    pub(super) fn into_driver(self) -> PoolConnection<sqlx::Postgres> {
        self.connection
    }

    /// Asks the server for an answer.
    pub(super) async fn ping(&mut self) -> Result<(), sqlx::Error> {
        self.is_busy = true;
        let answer = ping(&mut self.connection).await;
        self.note_answer(&answer);
        answer
    }

    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        // It counts as open from now on: the command may arrive although its caller
        // is gone.
        self.is_in_transaction = true;
        self.command(self.route.begin()).await
    }

    pub(super) async fn end(&mut self, how: End) -> Result<(), sqlx::Error> {
        self.command(how.command()).await?;
        self.is_in_transaction = false;
        Ok(())
    }

    async fn command(&mut self, text: &'static str) -> Result<(), sqlx::Error> {
        self.is_busy = true;
        let done = self.connection.execute(text).await;
        self.note_answer(&done);
        done.map(drop)
    }

    /// An error of the database is an answer, too.
    fn note_answer<T>(&mut self, answer: &Result<T, sqlx::Error>) {
        self.is_busy = !matches!(answer, Ok(_) | Err(sqlx::Error::Database(_)));
    }

    /// Executes a statement and returns how many rows it wrote.
    pub(super) async fn execute(&mut self, query: Prepared<Postgres>) -> Result<u64, sqlx::Error> {
        let is_alone = self.begin_if_alone().await?;
        let query = query.persistent(self.route == Route::Straight);
        self.is_busy = true;
        let done = query.execute(&mut *self.connection).await;
        self.note_answer(&done);
        Ok(self.end_if_alone(is_alone, done).await?.rows_affected())
    }

    /// Executes a statement and returns its rows.
    pub(super) async fn fetch(
        &mut self,
        query: Prepared<Postgres>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let is_alone = self.begin_if_alone().await?;
        let query = query.persistent(self.route == Route::Straight);
        self.is_busy = true;
        let rows = query.fetch_all(&mut *self.connection).await;
        self.note_answer(&rows);
        self.end_if_alone(is_alone, rows).await
    }

    /// Begins a transaction for one statement if it needs one and has none.
    async fn begin_if_alone(&mut self) -> Result<bool, sqlx::Error> {
        let is_alone = self.route == Route::ThroughPooler && !self.is_in_transaction;
        if is_alone {
            self.begin().await?;
        }
        Ok(is_alone)
    }

    /// Ends the transaction of one statement. The statement has happened only if this
    /// succeeds.
    async fn end_if_alone<T>(
        &mut self,
        is_alone: bool,
        done: Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        if !is_alone {
            return done;
        }
        let how = if done.is_ok() {
            End::Commit
        } else {
            End::Rollback
        };
        let ended = self.end(how).await;
        let done = done?;
        ended?;
        Ok(done)
    }
}

/// Pings a connection. The error of one that does not answer makes the pool drop it and
/// open another.
pub(super) async fn ping(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    const LIMIT: Duration = Duration::from_secs(1);
    match tokio::time::timeout(LIMIT, connection.ping()).await {
        Ok(answer) => answer,
        Err(elapsed) => Err(sqlx::Error::Io(elapsed.into())),
    }
}
