//! Failures inside this crate, and the errors that callers get.

use std::fmt;

use pipeline::StoreError;

/// A failure inside a unit of database work.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver or the database reported it.
    Database(sqlx::Error),
    /// A row holds a value that this code never writes; the text names the column.
    Damaged(&'static str),
    /// A value is sealed under a key of this name, which this process does not have.
    KeyUnknown(String),
    /// Other transactions changed the rows again and again.
    Conflict,
}

impl Fault {
    /// Whether one row or one value may have caused this, so that the same work without
    /// it may succeed: anything but an unavailable database. A deadlock counts as well,
    /// because it depends on which rows are locked together.
    pub(crate) fn may_be_of_one(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::KeyUnknown(_) | Self::Conflict => true,
            Self::Database(error) => is_deadlock(error) || !is_transient(error),
        }
    }
}

fn is_deadlock(error: &sqlx::Error) -> bool {
    let refusal = error.as_database_error();
    refusal.is_some_and(|refusal| refusal.code().as_deref() == Some("40P01"))
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        let is_transient = match &fault {
            Fault::Database(error) => is_transient(error),
            Fault::Damaged(_) => false,
            // The operator may put the key back.
            Fault::KeyUnknown(_) | Fault::Conflict => true,
        };
        let cause = Box::new(Cause(describe(&fault)));
        if is_transient {
            Self::Unavailable(cause)
        } else {
            Self::Broken(cause)
        }
    }
}

/// A cause that may be logged. A database quotes the values that it refuses, so its
/// own text is not passed on: only codes, and names from our schema.
#[derive(Debug)]
pub(crate) struct Cause(pub(crate) String);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}

fn describe(fault: &Fault) -> String {
    match fault {
        Fault::Database(error) => describe_driver(error),
        Fault::Damaged(column) => {
            format!("the column `{column}` holds a value that this program never writes")
        }
        Fault::KeyUnknown(key) => format!("there is no sealing key {key}"),
        Fault::Conflict => "other transactions kept changing the same rows".to_owned(),
    }
}

/// The driver's error as a text that holds no value of a row or a parameter.
pub(crate) fn describe_driver(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(refusal) => {
            let code = refusal.code().unwrap_or_default();
            match refusal.constraint() {
                Some(constraint) => format!("the database said {code} on {constraint}"),
                None => format!("the database said {code}"),
            }
        }
        sqlx::Error::ColumnDecode { index, .. } => format!("column {index} cannot be read"),
        sqlx::Error::Decode(_) => "a value cannot be read".to_owned(),
        sqlx::Error::Encode(_) => "a value cannot be written".to_owned(),
        other => other.to_string(),
    }
}

/// Whether the same work may succeed later.
fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(refusal) => {
            let code = refusal.code().unwrap_or_default();
            match refusal.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
                Some(_) => postgres_is_transient(&code),
                None => sqlite_is_transient(&code),
            }
        }
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        _ => false,
    }
}

/// Errors about our statement or its data are permanent: data exceptions (22),
/// integrity (23), syntax and undefined names (42). A missing privilege (42501) is
/// transient, because the operator can grant it. Everything else is the server's
/// condition: shut down, out of disk, read-only after a failover, deadlocked.
fn postgres_is_transient(code: &str) -> bool {
    let ours = ["22", "23", "42"];
    code == "42501" || !ours.iter().any(|class| code.starts_with(class))
}

/// The driver gives the extended result code; its low byte is the primary one.
fn sqlite_is_transient(code: &str) -> bool {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const NO_MEMORY: i32 = 7;
    const READ_ONLY: i32 = 8;
    const INTERRUPTED: i32 = 9;
    const IO_ERROR: i32 = 10;
    const FULL: i32 = 13;
    const CANNOT_OPEN: i32 = 14;
    const PROTOCOL: i32 = 15;
    // Our only triggers refuse a row that is sealed under a retired key. The retry
    // seals it under the new one.
    const REFUSED_BY_TRIGGER: i32 = 1811;
    let transient = [
        BUSY,
        LOCKED,
        NO_MEMORY,
        READ_ONLY,
        INTERRUPTED,
        IO_ERROR,
        FULL,
        CANNOT_OPEN,
        PROTOCOL,
    ];
    code.parse::<i32>()
        .is_ok_and(|code| code == REFUSED_BY_TRIGGER || transient.contains(&(code & 0xff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_shuts_down_or_is_full_is_unavailable() {
        for code in [
            "57P01", "53100", "40P01", "55P03", "57014", "25006", "42501", "55000",
        ] {
            assert!(postgres_is_transient(code), "{code}");
        }
        for code in ["5", "261", "13", "778", "1811"] {
            assert!(sqlite_is_transient(code), "{code}");
        }
    }

    #[test]
    fn errors_about_the_data_are_permanent() {
        for code in ["22021", "23514", "42P01"] {
            assert!(!postgres_is_transient(code), "{code}");
        }
        for code in ["19", "2067", "11", "1", ""] {
            assert!(!sqlite_is_transient(code), "{code}");
        }
    }

    #[test]
    fn damage_is_permanent_and_conflict_is_transient() {
        assert!(matches!(
            StoreError::from(Fault::Damaged("kind")),
            StoreError::Broken(_)
        ));
        assert!(matches!(
            StoreError::from(Fault::Conflict),
            StoreError::Unavailable(_)
        ));
        assert!(matches!(
            StoreError::from(Fault::KeyUnknown("0".to_owned())),
            StoreError::Unavailable(_)
        ));
    }
}
