//! The migrations of this binary, each in both dialects.

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
    twin!(12, "0012_unended_claims"),
    twin!(13, "0013_refusals"),
    twin!(14, "0014_server_secret"),
    twin!(15, "0015_miss_seen"),
    twin!(16, "0016_sends"),
    twin!(17, "0017_replies"),
    twin!(18, "0018_expected"),
    twin!(19, "0019_kept_messages"),
    twin!(20, "0020_may_have_been_sent"),
    twin!(21, "0021_kept_by_inbox"),
    twin!(22, "0022_tried_since"),
    twin!(23, "0023_guard_requests"),
    twin!(24, "0024_same_content"),
];

/// The migrations that a database has, in the driver's own table.
pub(crate) const APPLIED: &str =
    "SELECT version, description FROM _sqlx_migrations WHERE success ORDER BY version";

/// Which migrations were applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The names of those that were applied now, in order.
    pub applied: Vec<&'static str>,
    /// How many there were already.
    pub present: usize,
}

/// What applying migrations would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationPlan {
    /// The migrations that would be applied, in order.
    pub missing: Vec<PlannedMigration>,
    /// How many there are already.
    pub present: usize,
    /// The names of those that a newer binary has applied.
    pub newer: Vec<String>,
}

/// A migration that would be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedMigration {
    /// Its name.
    pub name: &'static str,
    /// Whether it only adds, so that binaries of the version before keep working.
    pub is_additive: bool,
}

/// The migrations that a database has: their versions and names.
#[derive(Debug, Default)]
pub(crate) struct Applied(Vec<(i64, String)>);

impl Applied {
    pub(crate) fn new(migrations: Vec<(i64, String)>) -> Self {
        Self(migrations)
    }

    /// Accepts migrations of a newer binary that only add, and logs them. Refuses one
    /// that takes away what this binary needs.
    pub(crate) fn accept_newer(&self) -> Result<(), OpenError> {
        let newer: Vec<&(i64, String)> = self.newer().collect();
        if let Some((found, _)) = newer.iter().find(|(_, name)| !is_additive(name)) {
            let (found, known) = (*found, newest());
            return Err(OpenError::MigrationsNewer { found, known });
        }
        if let Some((_, last)) = newer.last() {
            tracing::warn!(
                migration.newest = last,
                migrations.newer = newer.len(),
                "a newer version has migrated the database; the changes only add, so this version works with it",
            );
        }
        Ok(())
    }

    /// Refuses a database that lacks what this binary needs.
    pub(crate) fn refuse_missing(&self) -> Result<(), OpenError> {
        let missing: Vec<&str> = self.missing().collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(OpenError::MigrationsMissing(missing.join(", ")))
    }

    /// What was applied, if all that was missing was.
    pub(crate) fn completed(&self) -> Migrated {
        Migrated {
            applied: self.missing().collect(),
            present: self.0.len(),
        }
    }

    pub(crate) fn plan(&self) -> MigrationPlan {
        let missing = self.missing().map(|name| PlannedMigration {
            name,
            is_additive: is_additive(name),
        });
        MigrationPlan {
            missing: missing.collect(),
            present: self.0.len(),
            newer: self.newer().map(|(_, name)| name.clone()).collect(),
        }
    }

    fn newer(&self) -> impl Iterator<Item = &(i64, String)> {
        self.0.iter().filter(|(version, _)| *version > newest())
    }

    fn missing(&self) -> impl Iterator<Item = &'static str> {
        let is_missing = |twin: &&Twin| self.0.iter().all(|(version, _)| *version != twin.version);
        TWINS.iter().filter(is_missing).map(|twin| twin.name)
    }
}

/// The newest migration that this binary knows.
fn newest() -> i64 {
    TWINS.last().map_or(0, |twin| twin.version)
}

/// Whether a migration only adds. One that drops, renames or tightens something is
/// named `NNNN_contract_…`, and comes a release after its replacement was added: then
/// no binary that is still running needs what it takes away.
fn is_additive(name: &str) -> bool {
    !name.contains("_contract")
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
    let mut migrator = Migrator::with_migrations(steps.collect());
    // Those of a newer binary were judged before.
    migrator.set_ignore_missing(true);
    migrator
}

/// Why migrations were not applied. A file that has changed since it was applied is
/// from before the first release.
pub(crate) fn refused(error: MigrateError) -> OpenError {
    match error {
        MigrateError::VersionMismatch(_) => OpenError::Unreleased(Box::new(error)),
        other => OpenError::Migrate(Box::new(other)),
    }
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
    fn migration_names_begin_with_their_version() {
        for (twin, number) in TWINS.iter().zip(1..) {
            assert_eq!(twin.version, number);
            assert!(twin.name.starts_with(&format!("{number:04}_")));
        }
    }

    #[test]
    fn migration_that_drops_or_renames_is_named_contract() {
        let takes_away = [
            "DROP TABLE",
            "DROP COLUMN",
            "RENAME ",
            "SET NOT NULL",
            " TYPE ",
        ];
        for twin in TWINS.iter().filter(|twin| is_additive(twin.name)) {
            for text in [twin.postgres, twin.sqlite] {
                let text = text.to_uppercase();
                let found = takes_away.iter().find(|words| text.contains(**words));
                assert_eq!(found, None, "{}", twin.name);
            }
        }
    }

    fn applied(names: &[&str]) -> Applied {
        let versions = names.iter().map(|name| name.split_at(4).0.parse().unwrap());
        let names = names.iter().map(|name| (*name).to_owned());
        Applied::new(versions.zip(names).collect())
    }

    #[test]
    fn a_database_with_newer_additive_migrations_is_accepted() {
        applied(&["0001_pipeline", "9998_more", "9999_other"])
            .accept_newer()
            .unwrap();
        assert!(matches!(
            applied(&["9998_contract_more", "9999_other"]).accept_newer(),
            Err(OpenError::MigrationsNewer { found: 9998, .. })
        ));
    }

    #[test]
    fn a_database_without_migrations_is_refused() {
        let empty = Applied::default();
        assert!(matches!(
            empty.refuse_missing(),
            Err(OpenError::MigrationsMissing(_))
        ));
        let plan = empty.plan();
        assert_eq!(plan.missing.len(), TWINS.len());
        assert_eq!(plan.missing[0].name, "0001_pipeline");
    }
}
