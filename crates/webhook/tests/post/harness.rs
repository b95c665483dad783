//! A server with its own port and database, and a client that sends exactly the
//! given bytes.

mod client;
mod server;

pub(crate) use client::{Answer, Connection, signed, with_headers};
pub(crate) use server::{NOW, OTHER_SECRET, SECRET, Server, Setup};
