//! What differs behind a `PgBouncer` in transaction mode.

use store::{OpenError, Settings};
use testkit::server::{Server, shared_url};
use testkit::store_contract::must;
use url::Url;

use crate::subject::Database;

/// A `PgBouncer`, and a database through it.
async fn behind_pgbouncer() -> (Server, Database, Settings) {
    let pooler = Server::pgbouncer(&shared_url("TEST_DATABASE_URL"));
    let database = Database::create().await;
    let mut url = must(Url::parse(pooler.url()));
    url.set_path(must(Url::parse(&database.url)).path());
    let direct = database.settings();
    let settings = Settings {
        url: url.as_str().into(),
        direct_url: Some(direct.url.clone()),
        migrate: true,
        ..direct
    };
    (pooler, database, settings)
}

#[tokio::test]
async fn pgbouncer_without_a_direct_url_is_refused_and_explained() {
    let (_pooler, database, settings) = behind_pgbouncer().await;
    let unnamed = Settings {
        direct_url: None,
        ..settings
    };
    let explained = OpenError::UnnamedPooler.to_string();
    for refused in [
        store::open(&unnamed).await.err(),
        store::migrate(&unnamed).await.err(),
    ] {
        let refused = refused.map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some(explained.as_str()));
    }
    database.drop().await;
}

#[tokio::test]
async fn pgbouncer_before_another_database_than_the_direct_url_is_refused() {
    let (pooler, database, settings) = behind_pgbouncer().await;
    let other = Database::create().await;
    let mixed = Settings {
        direct_url: Some(other.url.clone().into()),
        ..settings
    };
    let refused = store::open(&mixed).await.err();
    assert!(
        matches!(refused, Some(OpenError::OtherServer)),
        "{refused:?}"
    );
    // The pooler keeps its connections to a database for a while.
    drop(pooler);
    database.drop().await;
    other.drop().await;
}
