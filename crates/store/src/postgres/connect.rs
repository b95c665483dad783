//! Connections and the options of their sessions, each with its reason.

use std::str::FromStr;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, FromRow, PgConnection, PgPool};

use super::link::{Link, Route, ping};
use super::unreachable;
use crate::open::OpenError;
use crate::settings::Settings;

/// The options of a session that migrates, straight to the server.
pub(super) fn migration_options(settings: &Settings) -> Result<PgConnectOptions, OpenError> {
    // A migration may take long, whatever timeout the user's role has.
    Ok(plain_options(settings, direct_url(settings))?.options([("statement_timeout", "0")]))
}

/// The options of a session straight to the server.
pub(super) fn direct_options(settings: &Settings) -> Result<PgConnectOptions, OpenError> {
    Ok(plain_options(settings, direct_url(settings))?.options([
        // No statement takes long; one that does is stuck, and its caller is gone.
        ("statement_timeout", "5s"),
        // The wait for a lock ends before the caller's timeout.
        ("lock_timeout", "2s"),
        // The server ends a transaction that its client does not end.
        ("idle_in_transaction_session_timeout", "10s"),
        // The plan of a prepared statement is kept. One that was made while a table was
        // small would read the whole table when it is large.
        ("enable_seqscan", "off"),
        // The server would plan a statement that takes a list anew for each list, although
        // the plan is the same: a quarter of its time for one mail.
        ("plan_cache_mode", "force_generic_plan"),
        // A plan that must read a table looks expensive then, and would be compiled.
        ("jit", "off"),
    ]))
}

/// The options of a session of the service. Through a pooler, a session has no settings of
/// its own: a pooler refuses them.
pub(super) fn options(settings: &Settings) -> Result<PgConnectOptions, OpenError> {
    match Route::of(settings) {
        Route::Straight => direct_options(settings),
        Route::ThroughPooler => {
            Ok(plain_options(settings, &settings.url)?.extra_float_digits(None))
        }
    }
}

fn direct_url(settings: &Settings) -> &SecretString {
    settings.direct_url.as_ref().unwrap_or(&settings.url)
}

fn plain_options(settings: &Settings, url: &SecretString) -> Result<PgConnectOptions, OpenError> {
    let options = PgConnectOptions::from_str(url.expose_secret())
        .map_err(|error| OpenError::Url(Box::new(error)))?;
    Ok(options
        .application_name(&settings.application_name)
        // The log of statements has no values, and so no use.
        .disable_statement_logging())
}

/// A connection does not outlive a failover or a change of DNS by much.
pub(super) const LIFETIME: Duration = Duration::from_mins(10);

/// A pool whose first connection is already open, so that a wrong URL is an
/// error now and not at the first delivery.
pub(super) async fn pool(
    settings: &Settings,
    options: PgConnectOptions,
) -> Result<PgPool, OpenError> {
    const STALE: Duration = Duration::from_secs(1);
    let pool = PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(settings.acquire_timeout)
        .max_lifetime(LIFETIME)
        // The release below was a round trip, so a connection that was released
        // a moment ago needs no ping; one that was idle for longer does.
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > STALE {
                    ping(connection).await?;
                }
                Ok(true)
            })
        })
        .after_release(|connection, _meta| Box::pin(end_transaction(connection)))
        .connect_with(options.clone())
        .await;
    match pool {
        Ok(pool) => Ok(pool),
        Err(error) => Err(unreachable::explain_pool(&options, &error).await),
    }
}

/// Ends the transaction that a connection was returned in: the next borrower's
/// write would be part of it and never be committed. A bare `ROLLBACK` outside a
/// transaction is a warning in the server's log each time, `BEGIN; ROLLBACK` is
/// not, and in a failed transaction it is an error, which drops the connection.
async fn end_transaction(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::raw_sql("BEGIN; ROLLBACK").execute(connection).await?;
    Ok(true)
}

/// Refuses a pooler that the settings do not name, and a pooler that leads to another
/// server or database than the direct URL.
pub(super) async fn refuse_other_server(
    link: &mut Link,
    direct: &mut PgConnection,
) -> Result<(), OpenError> {
    const WHERE: &str = "SELECT current_setting('statement_timeout'),
                                current_database()::text,
                                pg_postmaster_start_time()::text";
    let rows = link.fetch(sqlx::query(WHERE)).await.map_err(check_error)?;
    let reached = rows.first().and_then(|row| Place::from_row(row).ok());
    if reached
        .as_ref()
        .is_none_or(|(timeout, _, _)| timeout != "5s")
    {
        return Err(OpenError::UnnamedPooler);
    }
    let wanted: Place = sqlx::query_as(WHERE)
        .fetch_one(direct)
        .await
        .map_err(check_error)?;
    if reached == Some(wanted) {
        Ok(())
    } else {
        Err(OpenError::OtherServer)
    }
}

/// The timeout of statements, the database, and when its server was started.
type Place = (String, String, String);

/// Refuses a server on which a commit is not yet on disk when it is reported.
pub(super) async fn refuse_unsafe(connection: &mut PgConnection) -> Result<(), OpenError> {
    let (fsync, full_page_writes, synchronous_commit): (String, String, String) = sqlx::query_as(
        "SELECT current_setting('fsync'),
                current_setting('full_page_writes'),
                current_setting('synchronous_commit')",
    )
    .fetch_one(connection)
    .await
    .map_err(check_error)?;
    let settings = [
        ("fsync", fsync),
        ("full_page_writes", full_page_writes),
        ("synchronous_commit", synchronous_commit),
    ];
    match settings.into_iter().find(|(_, value)| value == "off") {
        Some((name, _)) => Err(OpenError::Unsafe(name)),
        None => Ok(()),
    }
}

pub(super) fn check_error(error: sqlx::Error) -> OpenError {
    OpenError::Check(Box::new(error))
}

#[cfg(test)]
mod tests {
    use testkit::server::shared_url;

    use super::*;

    #[tokio::test]
    async fn session_bounds_its_statements_locks_and_transactions_and_keeps_plans() {
        let settings = Settings::new(shared_url("TEST_DATABASE_URL").into());
        let options = options(&settings).unwrap();
        let pool = pool(&settings, options).await.unwrap();
        let bounds: (String, String, String, String, String) = sqlx::query_as(
            "SELECT current_setting('statement_timeout'),
                    current_setting('lock_timeout'),
                    current_setting('idle_in_transaction_session_timeout'),
                    current_setting('application_name'),
                    current_setting('plan_cache_mode')",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        let expected = ["5s", "2s", "10s", "maillatch", "force_generic_plan"];
        assert_eq!(<[String; 5]>::from(bounds), expected.map(str::to_owned));
    }
}
