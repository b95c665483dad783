//! Whether this process has the secrets that the database is used with.

use pipeline::StoreError;

use crate::backend::{Backend, Sql, query};
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::open::{AnyDatabase, Store};
use crate::reseal::newest;
use crate::sealing::Sealing;
use crate::uncancelled::{LONG, SHORT};

/// What the noted digest of a server secret is made of.
const TEXT: &[u8] = b"maillatch server secret check";

/// How many of the newest rows of each sealed column are opened.
const NEWEST: u32 = 10;

impl<B: Backend> Database<B> {
    /// A process does this when it starts. No caller waits for an answer then, and a busy
    /// database is no reason to exit.
    async fn note_secret(&self) -> Result<bool, StoreError> {
        self.run(LONG, |session| async move {
            query::<B>(Sql {
                postgres: "INSERT INTO server_secret (one, tag, noted_at)
                           VALUES (1, $1, clock_timestamp()) ON CONFLICT DO NOTHING",
                sqlite: "INSERT INTO server_secret (one, tag, noted_at)
                         SELECT 1, $1, now FROM clock WHERE true ON CONFLICT DO NOTHING",
            })
            .bind(tag(&session))
            .execute(&mut *session.writer().await?)
            .await?;
            Ok(has_same(&session).await?.unwrap_or(true))
        })
        .await
    }

    async fn has_same_secret(&self) -> Result<Option<bool>, StoreError> {
        self.run(SHORT, |session| async move { has_same(&session).await })
            .await
    }

    async fn accept_secret(&self) -> Result<(), StoreError> {
        self.run(SHORT, |session| async move {
            query::<B>(Sql {
                postgres: "INSERT INTO server_secret (one, tag, noted_at)
                           VALUES (1, $1, clock_timestamp())
                           ON CONFLICT (one) DO UPDATE
                           SET tag = excluded.tag, noted_at = excluded.noted_at",
                sqlite: "INSERT INTO server_secret (one, tag, noted_at)
                         SELECT 1, $1, now FROM clock WHERE true
                         ON CONFLICT (one) DO UPDATE
                         SET tag = excluded.tag, noted_at = excluded.noted_at",
            })
            .bind(tag(&session))
            .execute(&mut *session.writer().await?)
            .await?;
            Ok(())
        })
        .await
    }

    async fn unopened(&self) -> Result<(usize, usize), StoreError> {
        self.run(SHORT, |session| async move {
            let (mut all, mut unopened) = (0, 0);
            for column in Sealing::ALL {
                for row in newest(&session, column, NEWEST).await? {
                    all += 1;
                    let opened = row.opened(column, &session.secrets.keyring);
                    unopened += usize::from(opened.is_err());
                }
            }
            Ok((all, unopened))
        })
        .await
    }
}

fn tag<B>(session: &Session<B>) -> Vec<u8> {
    session.secrets.server_key.tag(&[TEXT]).to_vec()
}

/// Whether the noted secret is this one; `None` if none is noted.
async fn has_same<B: Backend>(session: &Session<B>) -> Result<Option<bool>, Fault> {
    let noted: Option<(Vec<u8>,)> = query::<B>(Sql::both("SELECT tag FROM server_secret"))
        .fetch_optional(&mut *session.reader().await?)
        .await?;
    Ok(noted.map(|(noted,)| noted == tag(session)))
}

impl Store {
    /// Notes the server secret if none is noted yet. False if another one is noted: this
    /// process recognises no duplicate and no cursor of before.
    pub async fn note_server_secret(&self) -> Result<bool, StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.note_secret().await,
            AnyDatabase::Sqlite(it) => it.note_secret().await,
        }
    }

    /// Whether the noted server secret is that of this process; `None` if none is noted.
    pub async fn has_same_server_secret(&self) -> Result<Option<bool>, StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.has_same_secret().await,
            AnyDatabase::Sqlite(it) => it.has_same_secret().await,
        }
    }

    /// Notes the server secret of this process in place of another one.
    pub async fn accept_server_secret(&self) -> Result<(), StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.accept_secret().await,
            AnyDatabase::Sqlite(it) => it.accept_secret().await,
        }
    }

    /// How many of the newest sealed rows there are to look at, and how many of them do
    /// not open with the keys of this process.
    pub async fn unopened_newest_rows(&self) -> Result<(usize, usize), StoreError> {
        match &self.database {
            AnyDatabase::Postgres(it) => it.unopened().await,
            AnyDatabase::Sqlite(it) => it.unopened().await,
        }
    }
}
