//! Temporary databases: for the demo and for tests.

use secrecy::{ExposeSecret, SecretString};
use sqlx::Postgres;
use sqlx::migrate::MigrateDatabase;

use crate::open::OpenError;

/// Creates the empty Postgres database that `url` names, on the server it names.
pub async fn create_database(url: &SecretString) -> Result<(), OpenError> {
    Postgres::create_database(url.expose_secret())
        .await
        .map_err(|error| OpenError::Connect(Box::new(error)))
}

/// Drops the Postgres database that `url` names, and whoever is connected to it.
pub async fn drop_database(url: &SecretString) -> Result<(), OpenError> {
    Postgres::force_drop_database(url.expose_secret())
        .await
        .map_err(|error| OpenError::Connect(Box::new(error)))
}
