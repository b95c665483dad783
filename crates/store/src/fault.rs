//! What can go wrong inside, and what of it the seam says.

use std::fmt;

use pipeline::StoreError;

/// A failure inside a unit of database work.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver or the database reported it.
    Database(sqlx::Error),
    /// A row holds what this code cannot have written; the text names the column.
    Damaged(&'static str),
    /// A value is sealed under a key of this name, which this process has not got.
    KeyUnknown(String),
    /// The rows changed under us more often than is plausible.
    Restless,
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        let may_pass = match &fault {
            Fault::Database(error) => may_pass(error),
            Fault::Damaged(_) => false,
            // The operator may put the key back.
            Fault::KeyUnknown(_) | Fault::Restless => true,
        };
        let cause = Box::new(Cause(describe(&fault)));
        if may_pass {
            Self::Unavailable(cause)
        } else {
            Self::Broken(cause)
        }
    }
}

/// A cause as it may be logged. A database quotes the values it chokes on, so
/// its own words stay here and only codes and names of ours leave.
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
        Fault::Damaged(column) => format!("the column `{column}` holds what was never written"),
        Fault::KeyUnknown(key) => format!("there is no sealing key {key}"),
        Fault::Restless => "the rows kept changing".to_owned(),
    }
}

/// The driver's error in words that hold no value of a row or a parameter.
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
fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(refusal) => {
            let code = refusal.code().unwrap_or_default();
            match refusal.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
                Some(_) => postgres_may_pass(&code),
                None => sqlite_may_pass(&code),
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

/// Only what is about our statement or its data stays wrong for ever: data
/// exceptions (22), integrity (23), syntax and undefined names (42). A missing
/// privilege (42501) is the operator's to mend. Everything else is the server's
/// condition: shut down, out of disk, read-only after a failover, deadlocked.
fn postgres_may_pass(code: &str) -> bool {
    let ours = ["22", "23", "42"];
    code == "42501" || !ours.iter().any(|class| code.starts_with(class))
}

/// The driver gives the extended result code; its low byte is the primary one.
fn sqlite_may_pass(code: &str) -> bool {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const NO_MEMORY: i32 = 7;
    const READ_ONLY: i32 = 8;
    const INTERRUPTED: i32 = 9;
    const IO_ERROR: i32 = 10;
    const FULL: i32 = 13;
    const CANNOT_OPEN: i32 = 14;
    const PROTOCOL: i32 = 15;
    // Our one kind of trigger refuses what is sealed under a retired key; sealed anew
    // it is taken.
    const REFUSED_BY_TRIGGER: i32 = 1811;
    let passing = [
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
        .is_ok_and(|code| code == REFUSED_BY_TRIGGER || passing.contains(&(code & 0xff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_shuts_down_or_is_full_is_only_away() {
        for code in [
            "57P01", "53100", "40P01", "55P03", "57014", "25006", "42501", "55000",
        ] {
            assert!(postgres_may_pass(code), "{code}");
        }
        for code in ["5", "261", "13", "778", "1811"] {
            assert!(sqlite_may_pass(code), "{code}");
        }
    }

    #[test]
    fn data_that_does_not_fit_never_will() {
        for code in ["22021", "23514", "42P01"] {
            assert!(!postgres_may_pass(code), "{code}");
        }
        for code in ["19", "2067", "11", "1", ""] {
            assert!(!sqlite_may_pass(code), "{code}");
        }
    }

    #[test]
    fn damage_is_permanent_and_unrest_is_not() {
        assert!(matches!(
            StoreError::from(Fault::Damaged("kind")),
            StoreError::Broken(_)
        ));
        assert!(matches!(
            StoreError::from(Fault::Restless),
            StoreError::Unavailable(_)
        ));
        assert!(matches!(
            StoreError::from(Fault::KeyUnknown("0".to_owned())),
            StoreError::Unavailable(_)
        ));
    }
}
