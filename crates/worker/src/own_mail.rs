//! What comes back of mail that was sent here: copies of it, and its provider's events.
//! Both prove that a send was accepted, whatever is known of it.

use extract::{Identity, ReplyHeaders};
use pipeline::{EchoClues, SendWritten};
use providers::SentEvent;

use crate::deps::Deps;
use crate::failure::Failure;

/// Whether a mail is a copy of one that was sent here. Only a mail that carries an id of
/// ours, or comes from an address of ours, is looked up.
pub(crate) async fn is_own_echo(
    deps: &Deps,
    headers: &ReplyHeaders,
    identity: &Identity,
    (from, provider_id): (Option<&str>, Option<&str>),
) -> Result<bool, Failure> {
    let is_ours = |id: &&String| id.starts_with("ml.");
    let own = &deps.settings.replies.own_addresses;
    let is_from_us = from.is_some_and(|from| own.contains(from));
    let clues = EchoClues {
        key: headers.send_key.clone(),
        message_id: identity.message_id.as_ref().filter(is_ours).cloned(),
        provider_id: provider_id.filter(|_| is_from_us).map(str::to_owned),
    };
    if clues == EchoClues::default() {
        return Ok(false);
    }
    let found = deps.echoes.recognise(&clues).await;
    let found = found.map_err(|error| Failure::of_store(&error))?;
    count(deps, "copy", found);
    Ok(found != SendWritten::Lost)
}

/// Writes that the mails of these events were sent.
pub(crate) async fn note_sent(deps: &Deps, events: Vec<SentEvent>) -> Result<(), Failure> {
    for event in events {
        let proven = deps.echoes.prove_sent(event.key, event.receipt).await;
        let proven = proven.map_err(|error| Failure::of_store(&error))?;
        count(deps, "event", proven);
    }
    Ok(())
}

fn count(deps: &Deps, by: &'static str, written: SendWritten) {
    if let SendWritten::Late(before) = written {
        let before = before.as_str();
        deps.meters.sends_proven(by, before).inc();
        tracing::info!(by, before, "a send is proven");
    }
}
