//! The seam between the algorithms of this crate and its two databases.
//!
//! An algorithm is written once, generic over [`Backend`]. Its statements stand in
//! place, in both dialects, side by side in a [`Sql`]. Both databases number their
//! parameters `$1`, `$2`, …, so values are bound once, and rows are decoded once.
//! A backend keeps what really differs: connecting, lending connections, locking,
//! notifying other processes, and the schema.

mod connection_count;
mod sql;
mod transaction;

use std::ops::DerefMut;

use sqlx::query::Query;
use sqlx::{Arguments, Database, Encode, FromRow, Type};
use uuid::Uuid;

use crate::batch::{Batch, Unrecorded};
use crate::fault::Fault;

pub use connection_count::ConnectionCount;
pub(crate) use sql::Sql;
pub(crate) use transaction::Transaction;

/// A value that both databases can store.
pub(crate) trait Value<'v>:
    Encode<'v, sqlx::Postgres> + Type<sqlx::Postgres> + Encode<'v, sqlx::Sqlite> + Type<sqlx::Sqlite>
{
}

impl<'v, T> Value<'v> for T where
    T: Encode<'v, sqlx::Postgres>
        + Type<sqlx::Postgres>
        + Encode<'v, sqlx::Sqlite>
        + Type<sqlx::Sqlite>
{
}

/// What a row of either database is decoded into: a tuple, or a struct declared
/// with [`row!`].
pub(crate) trait Columns:
    for<'r> FromRow<'r, sqlx::postgres::PgRow>
    + for<'r> FromRow<'r, sqlx::sqlite::SqliteRow>
    + Send
    + Unpin
{
}

impl<T> Columns for T where
    T: for<'r> FromRow<'r, sqlx::postgres::PgRow>
        + for<'r> FromRow<'r, sqlx::sqlite::SqliteRow>
        + Send
        + Unpin
{
}

/// What a database's driver calls a statement with its values.
pub(crate) type Prepared<B> =
    Query<'static, <B as Backend>::Driver, <<B as Backend>::Driver as Database>::Arguments>;

/// One of the two databases. Each method is at most one statement.
pub(crate) trait Backend: Send + Sync + Sized + 'static {
    /// The driver.
    type Driver: Database<Arguments: Arguments<Database = Self::Driver>>;
    /// A connection.
    type Connection: Send;
    /// A connection on loan from a pool.
    type Lent: DerefMut<Target = Self::Connection> + Send;

    /// This database's text of a statement.
    fn text(sql: Sql) -> &'static str;

    /// Lends a connection that may write.
    fn lend_writer(&self) -> impl Future<Output = Result<Self::Lent, sqlx::Error>> + Send;

    /// Lends a connection that only reads.
    fn lend_reader(&self) -> impl Future<Output = Result<Self::Lent, sqlx::Error>> + Send;

    /// Begins a transaction that writes.
    fn begin(
        connection: &mut Connection<Self>,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Ends a transaction.
    fn end(
        connection: &mut Connection<Self>,
        how: End,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Has a connection closed if the pool would lend it again inside a transaction.
    fn discard(lent: &mut Self::Lent);

    /// Binds a statement's next value.
    fn bind<'v, T: Value<'v>>(query: Prepared<Self>, value: T) -> Prepared<Self>;

    /// Executes a statement and returns how many rows it wrote.
    fn execute(
        connection: &mut Connection<Self>,
        query: Prepared<Self>,
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send;

    /// Executes a statement and returns its rows.
    fn fetch<R: Columns>(
        connection: &mut Connection<Self>,
        query: Prepared<Self>,
    ) -> impl Future<Output = Result<Vec<R>, sqlx::Error>> + Send;

    /// How many bytes of bodies one statement inserts. A batch with more needs several, and
    /// so a transaction.
    const MOST_BYTES: usize;

    /// Inserts the deliveries of a batch whose keys are free, many in one statement, and
    /// returns their ids.
    fn insert_deliveries(
        connection: &mut Connection<Self>,
        batch: &Batch,
        unrecorded: &[Unrecorded],
    ) -> impl Future<Output = Result<Vec<Uuid>, Fault>> + Send;

    /// Whether a notification in a statement reaches the watchers of all processes, this
    /// one included. Without that, watchers are woken after the commit.
    const NOTIFIES: bool;

    /// The connections of this process.
    fn connections(&self) -> ConnectionCount;

    /// Whether the connections have failed for long, although a new one works.
    fn needs_restart(&self) -> impl Future<Output = bool> + Send;

    /// A watch of this process has begun: from now on it must hear of notifications.
    fn watch(&self);

    /// Removes the bytes of wiped rows from the database's log, where a client can.
    fn truncate_log(
        connection: &mut Connection<Self>,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Closes every connection; waits for those that are lent.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A connection to a database.
pub(crate) type Connection<B> = <B as Backend>::Connection;

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Commit,
    Rollback,
}

impl End {
    /// The command, the same in both databases.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
        }
    }
}

/// A statement, with the values that are bound so far.
pub(crate) struct Statement<B: Backend> {
    query: Prepared<B>,
}

/// Begins a statement.
pub(crate) fn query<B: Backend>(sql: Sql) -> Statement<B> {
    Statement {
        query: sqlx::query(B::text(sql)),
    }
}

impl<B: Backend> Statement<B> {
    /// Binds the next value.
    pub(crate) fn bind<'v, T: Value<'v>>(self, value: T) -> Self {
        Self {
            query: B::bind(self.query, value),
        }
    }

    /// Executes the statement and returns how many rows it wrote.
    pub(crate) async fn execute(self, connection: &mut Connection<B>) -> Result<u64, Fault> {
        Ok(B::execute(connection, self.query).await?)
    }

    /// The rows.
    pub(crate) async fn fetch_all<R: Columns>(
        self,
        connection: &mut Connection<B>,
    ) -> Result<Vec<R>, Fault> {
        Ok(B::fetch(connection, self.query).await?)
    }

    /// The first row, if there is one.
    pub(crate) async fn fetch_optional<R: Columns>(
        self,
        connection: &mut Connection<B>,
    ) -> Result<Option<R>, Fault> {
        Ok(self.fetch_all(connection).await?.into_iter().next())
    }

    /// The first row of a statement that always has one.
    pub(crate) async fn fetch_one<R: Columns>(
        self,
        connection: &mut Connection<B>,
    ) -> Result<R, Fault> {
        let row = self.fetch_optional(connection).await?;
        row.ok_or(Fault::Database(sqlx::Error::RowNotFound))
    }

    /// The first columns of the rows.
    pub(crate) async fn scalars<T>(self, connection: &mut Connection<B>) -> Result<Vec<T>, Fault>
    where
        (T,): Columns,
    {
        let rows: Vec<(T,)> = self.fetch_all(connection).await?;
        Ok(rows.into_iter().map(|(value,)| value).collect())
    }

    /// The first column of the first row, if there is one.
    pub(crate) async fn scalar<T>(self, connection: &mut Connection<B>) -> Result<Option<T>, Fault>
    where
        (T,): Columns,
    {
        let row: Option<(T,)> = self.fetch_optional(connection).await?;
        Ok(row.map(|(value,)| value))
    }
}

/// Declares a struct that is decoded from the columns of the same names. A last field
/// `..name: Type` is another such struct, decoded from the same row.
macro_rules! row {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident {
        $($(#[$doc:meta])* $field_visibility:vis $field:ident: $type:ty,)*
        $(..$rest:ident: $rest_type:ty)?
    }) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$doc])* $field_visibility $field: $type,)*
            $($rest: $rest_type)?
        }

        impl sqlx::FromRow<'_, sqlx::postgres::PgRow> for $name {
            fn from_row(row: &sqlx::postgres::PgRow) -> Result<Self, sqlx::Error> {
                Ok(Self {
                    $($field: sqlx::Row::try_get(row, stringify!($field))?,)*
                    $($rest: sqlx::FromRow::from_row(row)?)?
                })
            }
        }

        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $name {
            fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
                Ok(Self {
                    $($field: sqlx::Row::try_get(row, stringify!($field))?,)*
                    $($rest: sqlx::FromRow::from_row(row)?)?
                })
            }
        }
    };
}

pub(crate) use row;
