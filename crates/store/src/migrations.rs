//! The migrations that this binary brings, twins for the two databases.

use sqlx::SqlSafeStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};

use crate::open::OpenError;

/// One step of the schema, in both dialects.
pub(crate) struct Twin {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) postgres: &'static str,
    pub(crate) sqlite: &'static str,
}

macro_rules! twin {
    ($version:literal, $name:literal) => {
        Twin {
            version: $version,
            name: $name,
            postgres: include_str!(concat!("../../../migrations/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("../../../migrations/sqlite/", $name, ".sql")),
        }
    };
}

/// All of them, in order.
pub(crate) const TWINS: &[Twin] = &[
    twin!(1, "0001_pipeline"),
    twin!(2, "0002_attempts"),
    twin!(3, "0003_polls"),
    twin!(4, "0004_retention"),
    twin!(5, "0005_keys"),
    twin!(6, "0006_callbacks"),
    twin!(7, "0007_provider_keys"),
    twin!(8, "0008_senders"),
    twin!(9, "0009_afterlife"),
    twin!(10, "0010_retired_keys"),
    twin!(11, "0011_requests"),
];

/// What came of applying migrations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The names of those that were applied now, in order.
    pub applied: Vec<&'static str>,
    /// How many there were already.
    pub present: usize,
}

impl Migrated {
    /// What `versions_before` lacked, now that all are there.
    pub(crate) fn since(versions_before: &[i64]) -> Self {
        Self {
            applied: missing(versions_before),
            present: versions_before.len(),
        }
    }
}

/// The driver's migrator over one dialect.
pub(crate) fn migrator(dialect: fn(&Twin) -> &'static str) -> Migrator {
    let steps = TWINS.iter().map(|twin| {
        Migration::new(
            twin.version,
            twin.name.into(),
            MigrationType::Simple,
            dialect(twin).into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(steps.collect())
}

/// Why migrations were not applied. A file that has changed since it was applied
/// is one of those before the first release.
pub(crate) fn refused(error: MigrateError) -> OpenError {
    match error {
        MigrateError::VersionMismatch(_) => OpenError::Unreleased(Box::new(error)),
        other => OpenError::Migrate(Box::new(other)),
    }
}

/// Refuses a database that knows more than this binary.
pub(crate) fn refuse_newer(present: &[i64]) -> Result<(), OpenError> {
    let known = TWINS.last().map_or(0, |twin| twin.version);
    match present.iter().max() {
        Some(&found) if found > known => Err(OpenError::MigrationsNewer { found, known }),
        _ => Ok(()),
    }
}

/// Refuses a database that lacks what this binary needs.
pub(crate) fn refuse_missing(present: &[i64]) -> Result<(), OpenError> {
    let missing = missing(present);
    if missing.is_empty() {
        return Ok(());
    }
    Err(OpenError::MigrationsMissing(missing.join(", ")))
}

fn missing(present: &[i64]) -> Vec<&'static str> {
    TWINS
        .iter()
        .filter(|twin| !present.contains(&twin.version))
        .map(|twin| twin.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn listing(folder: &str) -> Vec<String> {
        let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let mut names: Vec<String> = std::fs::read_dir(migrations.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_migration_has_its_twin_and_is_embedded() {
        let embedded: Vec<String> = TWINS
            .iter()
            .map(|twin| format!("{}.sql", twin.name))
            .collect();
        assert_eq!(listing("postgres"), embedded);
        assert_eq!(listing("sqlite"), embedded);
    }

    #[test]
    fn names_carry_their_numbers() {
        for (twin, number) in TWINS.iter().zip(1..) {
            assert_eq!(twin.version, number);
            assert!(twin.name.starts_with(&format!("{number:04}_")));
        }
    }

    #[test]
    fn a_database_ahead_or_behind_is_refused() {
        assert!(matches!(
            refuse_newer(&[1, 999]),
            Err(OpenError::MigrationsNewer { found: 999, .. })
        ));
        assert!(matches!(
            refuse_missing(&[]),
            Err(OpenError::MigrationsMissing(_))
        ));
    }
}
