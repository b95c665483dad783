//! The HTTP API for agents: open an attempt, wait, consume its value at most once.
//!
//! This crate never sees a mail, a body, a subject or a signature. It depends on
//! `pipeline` alone, and `items/item_body.rs` lists every field that an agent may
//! learn about an artifact before it consumes the artifact.
//!
//! The modules build on one another in this order; none imports a later one.

// What the operator configures.
mod policy;
mod settings;

// Who calls: API keys of the configuration and of the database.
mod auth;

// What all requests share: dependencies, rate limits, wait slots, the backlog.
mod state;

// How a request is read and answered: access, bodies, problems, timeouts.
mod http;

// What is served.
mod attempt;
mod audit;
mod guard;
mod inbox;
mod items;
mod keys;
mod send;

// What uses the body of a send.
mod message;
mod thread;

// The description of all of it, and the table of routes.
mod openapi;
mod routes;

pub use auth::{KeyOrder, KeyOrderError, KeySettings, Keys, KeysError};
pub use policy::Policy;
pub use routes::{routes, routes_and};
pub use settings::{Budgets, Settings};
pub use state::Deps;
