//! Actions that must happen at most once: mail that is sent here, and actions of agents
//! that a guard protects.
//!
//! Between "the provider accepted it" and "we recorded it" anything may die. So a send is
//! handed to its provider at most once, and what is unknown has a state of its own:
//! `uncertain`.
//!
//! ```text
//! held ─approve─▶ ready ─claim─▶ claimed ─dispatch─▶ dispatched ─accepted─▶ sent
//!                  ▲ ▲             │                    │ ├─refused─▶ failed
//!                  │ └─lease over──┘                    │ └─maybe, lease over─▶ uncertain
//!                  ├────────── proven unsent ───────────┘                          │
//!                  └────────── settled as unsent ──────────────────────────────────┤
//!                                                                 sent ◀───proof───┘
//! ```
//!
//! A guard has the same states. Its claim gives the permission to act, so it is
//! `dispatched` from the start; released, it is `ready` for the next claim; confirmed, it
//! is `sent`.

mod action;
mod desk;
mod guard;
mod intent;
mod log;
mod outbox;
mod view;

pub use action::*;
pub use desk::*;
pub use guard::*;
pub use intent::*;
pub use log::*;
pub use outbox::*;
pub use view::*;
