//! The sealed column of a send: its recipient and its rendered bytes together, so that
//! they are sealed, resealed and wiped as one.

use pipeline::{Recipient, SendId, SendPayload};

use crate::fault::Fault;
use crate::seal::{Keyring, Row, Sealed};

/// Seals the recipient and the payload for the row of a send.
pub(super) fn seal(
    keyring: &Keyring,
    (id, sender): (SendId, &str),
    to: &Recipient,
    payload: &SendPayload,
) -> Result<Sealed, Fault> {
    let address = to.as_str().as_bytes();
    let length = u16::try_from(address.len()).or(Err(Fault::Damaged("content")))?;
    let plain = [&length.to_be_bytes()[..], address, payload.as_bytes()].concat();
    keyring.sealing().seal(Row::send(id, sender), &plain)
}

/// Opens what [`seal`] has sealed.
pub(super) fn open(
    keyring: &Keyring,
    (id, sender): (SendId, &str),
    (key, sealed): (&str, &[u8]),
) -> Result<(Recipient, SendPayload), Fault> {
    let damaged = || Fault::Damaged("content");
    let plain = keyring.open(Row::send(id, sender), key, sealed)?;
    let (length, rest) = plain.split_first_chunk::<2>().ok_or_else(damaged)?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (address, payload) = rest.split_at_checked(length).ok_or_else(damaged)?;
    let address = std::str::from_utf8(address).or(Err(damaged()))?;
    let to = address.parse().or(Err(damaged()))?;
    Ok((to, SendPayload::new(payload.to_vec())))
}
