//! A server on a port of its own over a database of its own, and a client that
//! writes the bytes it is told to.

mod client;
mod server;

pub(crate) use client::{Answer, Connection, signed, with_headers};
pub(crate) use server::{NOW, OTHER_SECRET, SECRET, Server, Setup};
