//! The events of sends and guards, and the notifications that go with them.

use pipeline::{NewSend, SendId};
use uuid::Uuid;

use crate::backend::{Backend, Connection, Sql, query};
use crate::database::Session;
use crate::fault::Fault;

/// An event of a send.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Event<'e> {
    pub(super) what: &'static str,
    pub(super) why: Option<&'e str>,
    pub(super) by: Option<&'e str>,
    pub(super) token: Option<Uuid>,
    /// The sender whose outbox is notified: its send may be dispatched now.
    pub(super) ready: Option<&'e str>,
}

/// The name that notifications to the outbox of a sender carry. No address and no id has
/// a colon.
pub(super) fn outbox_of(sender: &str) -> String {
    format!("outbox:{sender}")
}

impl<'e> Event<'e> {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            ..Self::default()
        }
    }

    pub(super) fn because(self, why: &'e str) -> Self {
        Self {
            why: Some(why),
            ..self
        }
    }

    pub(super) fn by(self, key: &'e str) -> Self {
        Self {
            by: Some(key),
            ..self
        }
    }

    pub(super) fn with_token(self, token: Uuid) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    pub(super) fn ready_for(self, sender: &'e str) -> Self {
        Self {
            ready: Some(sender),
            ..self
        }
    }

    /// Adds the event in the transaction of what happened, and notifies those who wait
    /// for the send, and the outbox if it is ready, when it commits. In `SQLite` call
    /// [`crate::database::Session::announce`] for each after the commit.
    pub(super) async fn add<B: Backend>(
        self,
        connection: &mut Connection<B>,
        id: Uuid,
    ) -> Result<(), Fault> {
        query::<B>(Sql {
            postgres: "INSERT INTO send_events (send_id, at, what, why, by_key, claim_token)
                       VALUES ($1, clock_timestamp(), $2, $3, $4, $5)
                       RETURNING pg_notify('maillatch_arrivals', $6),
                           CASE WHEN $7 <> '' THEN pg_notify('maillatch_arrivals', $7) END",
            sqlite: "INSERT INTO send_events (send_id, at, what, why, by_key, claim_token)
                     SELECT $1, now, $2, $3, $4, $5 FROM clock WHERE $6 <> $7",
        })
        .bind(id)
        .bind(self.what)
        .bind(self.why)
        .bind(self.by)
        .bind(self.token)
        .bind(SendId::from_uuid(id).to_string())
        .bind(self.ready.map(outbox_of).unwrap_or_default())
        .execute(connection)
        .await?;
        Ok(())
    }
}

/// The first event of a send. One that is ready notifies its sender.
pub(super) fn first_event(send: &NewSend) -> Event<'_> {
    let event = if send.hold.is_some() {
        Event::new("held")
    } else {
        Event::new("ready").ready_for(send.sender.as_str())
    };
    event.by(send.by.as_str())
}

/// Notifies those who wait for a new send, and its sender if it is ready, in this process.
pub(super) fn announce_new<B: Backend>(session: &Session<B>, send: &NewSend) {
    session.announce(&send.id.to_string());
    if send.hold.is_none() {
        session.announce(&outbox_of(send.sender.as_str()));
    }
}
