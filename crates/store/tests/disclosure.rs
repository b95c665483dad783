//! A value leaves only after its consume row is committed.
//!
//! Each test makes the database refuse the commit itself, after the insert succeeded.
//! Code that discloses the value before the commit, or ignores the error of the commit,
//! discloses it here, and to the next consumer again.

use pipeline::{Consumed, StoreError};
use sqlx::{Connection, PgConnection, SqliteConnection};
use testkit::store_contract::{Seams, StoreSubject, code, inbox, must, request};

use crate::subject::{PostgresDatabase, SqliteFile};

#[tokio::test]
async fn no_value_leaves_postgres_before_its_consume_is_committed() {
    let subject = PostgresDatabase::open().await;
    let mut other = must(PgConnection::connect(&subject.database.url).await);
    // A deferred trigger fails at the commit.
    let refusing = sqlx::raw_sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '53100'; END $$;
         CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON consumes
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    must(refusing.execute(&mut other).await);
    let willing = async {
        must(
            sqlx::raw_sql("DROP TRIGGER refuse ON consumes")
                .execute(&mut other)
                .await,
        );
    };
    refused_commit_discloses_nothing(&subject.seams(), willing).await;
    subject.close().await;
}

#[tokio::test]
async fn no_value_leaves_sqlite_before_its_consume_is_committed() {
    let subject = SqliteFile::open().await;
    let mut other = must(SqliteConnection::connect(&subject.directory.url()).await);
    // A deferred foreign key is checked at the commit.
    let refusing = sqlx::raw_sql(
        "CREATE TABLE refusal (artifact BLOB
             REFERENCES inboxes (inbox) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER refuse AFTER INSERT ON consumes
             BEGIN INSERT INTO refusal VALUES (NEW.artifact_id); END",
    );
    must(refusing.execute(&mut other).await);
    let willing = async {
        must(
            sqlx::raw_sql("DROP TRIGGER refuse")
                .execute(&mut other)
                .await,
        );
    };
    refused_commit_discloses_nothing(&subject.seams(), willing).await;
    subject.close().await;
}

async fn refused_commit_discloses_nothing(seams: &Seams, willing: impl Future<Output = ()>) {
    let to = inbox("agent");
    let id = seams.bring(&to, "m1", code(&to, "493817")).await;
    for consumer in ["a", "b"] {
        let answer = seams.agents.consume(&request(id, consumer, "k")).await;
        assert!(
            matches!(
                answer,
                Err(StoreError::Unavailable(_) | StoreError::Broken(_))
            ),
            "{answer:?}"
        );
    }
    let items = seams.items(&to).await;
    assert!(items.iter().all(|item| item.consumed_at.is_none()));
    willing.await;
    let answer = seams.consume(&request(id, "b", "k")).await;
    assert!(matches!(answer, Consumed::First { .. }), "{answer:?}");
}
