//! API keys: whose they are, what they permit, and until when.

use async_trait::async_trait;
use pipeline::{ConsumerId, Created, KeyLog, KeyView, LiveKey, NewKey, Permission, StoreError};

use crate::backend::{Backend, Connection, Sql, query, row};
use crate::column::Moment;
use crate::database::{Database, Session};
use crate::fault::Fault;
use crate::requests::{self, Noted};
use crate::stored::{joined, millis, span, split};
use crate::uncancelled::SHORT;

#[async_trait]
impl<B: Backend> KeyLog for Database<B> {
    async fn create_key(&self, key: NewKey) -> Result<Created<KeyView>, StoreError> {
        self.run(SHORT, |session| create(session, key)).await
    }

    async fn live_key(&self, id: &str) -> Result<Option<LiveKey>, StoreError> {
        let id = id.to_owned();
        self.run(SHORT, |session| live(session, id)).await
    }

    async fn key_used(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.run(SHORT, |session| used(session, id)).await
    }

    async fn keys(&self) -> Result<Vec<KeyView>, StoreError> {
        self.run(SHORT, list).await
    }

    async fn revoke_key(&self, name: &ConsumerId) -> Result<Option<KeyView>, StoreError> {
        let name = name.clone();
        self.run(SHORT, |session| revoke(session, name)).await
    }
}

async fn create<B: Backend>(session: Session<B>, key: NewKey) -> Result<Created<KeyView>, Fault> {
    let mut transaction = session.begin().await?;
    let made = match requests::note::<B>(&mut transaction, key.asked.as_ref(), &key.id).await? {
        Noted::New => insert::<B>(&mut transaction, key).await?,
        Noted::Before(made) => known::<B>(&mut transaction, &made).await?,
        Noted::Reused => Created::KeyReused,
    };
    if let Created::New(_) = made {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    Ok(made)
}

/// Inserts the key, unless a live one has its name.
async fn insert<B: Backend>(
    connection: &mut Connection<B>,
    key: NewKey,
) -> Result<Created<KeyView>, Fault> {
    // An expired key makes room for the next of its name.
    query::<B>(Sql {
        postgres: "UPDATE keys SET revoked_at = expires_at
                   WHERE name = $1 AND revoked_at IS NULL AND expires_at <= clock_timestamp()",
        sqlite: "UPDATE keys SET revoked_at = expires_at
                 WHERE name = $1 AND revoked_at IS NULL
                   AND expires_at <= (SELECT now FROM clock)",
    })
    .bind(key.name.as_str())
    .execute(connection)
    .await?;
    let scopes: Vec<&str> = key.permissions.iter().map(|one| one.as_str()).collect();
    let row: Option<KeyRow> = query::<B>(Sql {
        postgres: "INSERT INTO keys (id, name, hash, scopes, inboxes, expires_at, created_at)
                   SELECT $1, $2, $3, $4, $5, moment + $6 * interval '1 millisecond', moment
                   FROM clock_timestamp() AS moment
                   ON CONFLICT DO NOTHING
                   RETURNING id, name, scopes, inboxes, created_at, expires_at, revoked_at,
                             used_at, false AS is_expired",
        sqlite: "INSERT INTO keys (id, name, hash, scopes, inboxes, expires_at, created_at)
                 SELECT $1, $2, $3, $4, $5, now + $6, now FROM clock WHERE true
                 ON CONFLICT DO NOTHING
                 RETURNING id, name, scopes, inboxes, created_at, expires_at, revoked_at,
                           used_at, false AS is_expired",
    })
    .bind(key.id)
    .bind(key.name.as_str())
    .bind(&key.hash[..])
    .bind(scopes.join(" "))
    .bind(joined(&key.inboxes))
    .bind(key.expires_in.map(millis))
    .fetch_optional(connection)
    .await?;
    Ok(match row {
        Some(row) => Created::New(row.try_into()?),
        None => Created::Refused,
    })
}

/// The key that the same request has made.
async fn known<B: Backend>(
    connection: &mut Connection<B>,
    made: &str,
) -> Result<Created<KeyView>, Fault> {
    let row: KeyRow = query::<B>(Sql {
        postgres: "SELECT id, name, scopes, inboxes, created_at, expires_at, revoked_at, used_at,
                          coalesce(expires_at <= clock_timestamp(), false) AS is_expired
                   FROM keys WHERE id = $1",
        sqlite: "SELECT id, name, scopes, inboxes, created_at, expires_at, revoked_at, used_at,
                        coalesce(expires_at <= (SELECT now FROM clock), false) AS is_expired
                 FROM keys WHERE id = $1",
    })
    .bind(made)
    .fetch_one(connection)
    .await?;
    Ok(Created::Known(row.try_into()?))
}

async fn live<B: Backend>(session: Session<B>, id: String) -> Result<Option<LiveKey>, Fault> {
    let row: Option<LiveRow> = query::<B>(Sql {
        postgres: "SELECT id, name, hash, scopes, inboxes, created_at, expires_at, revoked_at,
                          used_at, false AS is_expired,
                          floor(extract(epoch FROM expires_at - now()) * 1000)::bigint
                              AS expires_in_ms,
                          coalesce(used_at < now() - interval '10 minutes', true) AS use_is_stale
                   FROM keys
                   WHERE id = $1 AND revoked_at IS NULL
                     AND (expires_at IS NULL OR expires_at > now())",
        sqlite: "SELECT id, name, hash, scopes, inboxes, created_at, expires_at, revoked_at,
                        used_at, false AS is_expired, expires_at - now AS expires_in_ms,
                        coalesce(used_at < now - 600000, true) AS use_is_stale
                 FROM keys, clock
                 WHERE id = $1 AND revoked_at IS NULL
                   AND (expires_at IS NULL OR expires_at > now)",
    })
    .bind(id)
    .fetch_optional(&mut *session.reader().await?)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(LiveKey {
        hash: row.hash.try_into().or(Err(Fault::Damaged("hash")))?,
        expires_in: row.expires_in_ms.map(span),
        use_is_stale: row.use_is_stale,
        view: row.key.try_into()?,
    }))
}

/// Notes that a key was used, but not more often than every ten minutes.
async fn used<B: Backend>(session: Session<B>, id: String) -> Result<(), Fault> {
    query::<B>(Sql {
        postgres: "UPDATE keys SET used_at = clock_timestamp()
                   WHERE id = $1
                     AND coalesce(used_at < clock_timestamp() - interval '10 minutes', true)",
        sqlite: "UPDATE keys SET used_at = now FROM clock
                 WHERE id = $1 AND coalesce(used_at < now - 600000, true)",
    })
    .bind(id)
    .execute(&mut *session.writer().await?)
    .await?;
    Ok(())
}

async fn list<B: Backend>(session: Session<B>) -> Result<Vec<KeyView>, Fault> {
    let rows: Vec<KeyRow> = query::<B>(Sql {
        postgres: "SELECT id, name, scopes, inboxes, created_at, expires_at, revoked_at, used_at,
                          coalesce(expires_at <= now(), false) AS is_expired
                   FROM keys ORDER BY name, created_at",
        sqlite: "SELECT id, name, scopes, inboxes, created_at, expires_at, revoked_at, used_at,
                        coalesce(expires_at <= now, false) AS is_expired
                 FROM keys, clock ORDER BY name, created_at",
    })
    .fetch_all(&mut *session.reader().await?)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

async fn revoke<B: Backend>(
    session: Session<B>,
    name: ConsumerId,
) -> Result<Option<KeyView>, Fault> {
    let row: Option<KeyRow> = query::<B>(Sql {
        postgres: "UPDATE keys SET revoked_at = clock_timestamp()
                   WHERE name = $1 AND revoked_at IS NULL
                   RETURNING id, name, scopes, inboxes, created_at, expires_at, revoked_at,
                             used_at, coalesce(expires_at <= revoked_at, false) AS is_expired",
        sqlite: "UPDATE keys SET revoked_at = (SELECT now FROM clock)
                 WHERE name = $1 AND revoked_at IS NULL
                 RETURNING id, name, scopes, inboxes, created_at, expires_at, revoked_at,
                           used_at, coalesce(expires_at <= revoked_at, false) AS is_expired",
    })
    .bind(name.as_str())
    .fetch_optional(&mut *session.writer().await?)
    .await?;
    row.map(TryInto::try_into).transpose()
}

row! {
    /// A key without its hash.
    struct KeyRow {
        id: String,
        name: String,
        scopes: String,
        inboxes: String,
        created_at: Moment,
        expires_at: Option<Moment>,
        revoked_at: Option<Moment>,
        used_at: Option<Moment>,
        is_expired: bool,
    }
}

row! {
    /// A key that a request may present.
    struct LiveRow {
        hash: Vec<u8>,
        expires_in_ms: Option<i64>,
        use_is_stale: bool,
        ..key: KeyRow
    }
}

impl TryFrom<KeyRow> for KeyView {
    type Error = Fault;

    fn try_from(row: KeyRow) -> Result<Self, Fault> {
        let permissions = row.scopes.split_whitespace().map(Permission::from_word);
        Ok(Self {
            id: row.id,
            name: row.name.parse().or(Err(Fault::Damaged("name")))?,
            permissions: permissions
                .collect::<Option<_>>()
                .ok_or(Fault::Damaged("scopes"))?,
            inboxes: split(&row.inboxes),
            created_at: row.created_at.into(),
            expires_at: row.expires_at.map(Into::into),
            revoked_at: row.revoked_at.map(Into::into),
            used_at: row.used_at.map(Into::into),
            is_expired: row.is_expired,
        })
    }
}
