//! The webhook over a real socket and a real database. Test names that begin with a
//! letter and a number are rows of the bad-input catalogue in `tests/README.md`: `h` for
//! HTTP, `s` for signatures, `p` for payloads.

#[cfg(test)]
mod group_commit;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod http_rows;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod provider_rows;
#[cfg(test)]
mod quota;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod senders;
#[cfg(test)]
mod signature_rows;
#[cfg(test)]
mod slow_clients;
#[cfg(test)]
mod sns;
