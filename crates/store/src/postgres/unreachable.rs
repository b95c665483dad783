//! Why a Postgres server cannot be used, in words: where it is, and what to do.

use std::io::ErrorKind;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnectOptions;

use crate::open::OpenError;

/// How long one connection may take, to find out why none is made.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Explains why a pool could not connect. A pool tries until its timeout and then forgets
/// the reason, so one more connection is tried.
pub(super) async fn explain_pool(options: &PgConnectOptions, error: &sqlx::Error) -> OpenError {
    if !matches!(error, sqlx::Error::PoolTimedOut) {
        return explain(options, error);
    }
    match tokio::time::timeout(TIMEOUT, options.connect()).await {
        Ok(Err(reason)) => explain(options, &reason),
        Ok(Ok(_)) => explain(options, error),
        Err(_elapsed) => OpenError::Unreachable(format!(
            "PostgreSQL at {} does not answer; check the host and port of database.url, and the \
             firewalls in between",
            place(options)
        )),
    }
}

/// Explains why a connection was not made.
pub(super) fn explain(options: &PgConnectOptions, error: &sqlx::Error) -> OpenError {
    let (place, user) = (place(options), options.get_username());
    let database = options.get_database().unwrap_or(user);
    let code = error.as_database_error().and_then(DatabaseError::code);
    OpenError::Unreachable(match (error, code.as_deref()) {
        (_, Some("28P01" | "28000")) => format!(
            "PostgreSQL at {place} does not accept the password of user `{user}`; correct the user \
             and the password in database.url, or the rules of pg_hba.conf"
        ),
        (_, Some("3D000")) => format!(
            "PostgreSQL at {place} has no database `{database}`; create it with: createdb -O \
             {user} {database}"
        ),
        (_, Some("53300")) => format!(
            "PostgreSQL at {place} has no connection left; raise its max_connections, or lower \
             database.max_connections"
        ),
        // A pooler knows few settings of a session, and refuses the others.
        (_, Some("08P01")) => OpenError::UnnamedPooler.to_string(),
        (_, Some("57P03")) => {
            format!("PostgreSQL at {place} is starting or stopping; try again in a moment")
        }
        (_, Some(code)) => format!(
            "PostgreSQL at {place} refuses user `{user}` and database `{database}` (code {code}); \
             its log says more"
        ),
        (sqlx::Error::Io(error), None) if error.kind() == ErrorKind::ConnectionRefused => format!(
            "nothing listens at {place}; check that PostgreSQL runs there, and the host and port of \
             database.url"
        ),
        (sqlx::Error::Io(error), None) => format!(
            "PostgreSQL at {place} cannot be reached ({error}); check the host and port of \
             database.url"
        ),
        (sqlx::Error::Tls(error), None) => format!(
            "TLS to PostgreSQL at {place} failed ({error}); check sslmode and sslrootcert in \
             database.url"
        ),
        (error, None) => format!("PostgreSQL at {place} cannot be used: {error}"),
    })
}

/// Host and port, or the directory of the socket.
fn place(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}
