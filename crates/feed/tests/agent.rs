//! The feed as an agent meets it: a real server on a free port over a real
//! SQLite file. Names such as A13 are rows of the catalogue of bad input.

#[cfg(test)]
#[path = "agent/attempt.rs"]
mod attempt;
#[cfg(test)]
#[path = "agent/auth.rs"]
mod auth;
#[cfg(test)]
#[path = "agent/body.rs"]
mod body;
#[cfg(test)]
#[path = "agent/consume.rs"]
mod consume;
#[cfg(test)]
#[path = "agent/docs.rs"]
mod docs;
#[cfg(test)]
#[path = "agent/documented.rs"]
mod documented;
#[cfg(test)]
#[path = "agent/elsewhere.rs"]
mod elsewhere;
#[cfg(test)]
#[path = "agent/events.rs"]
mod events;
#[cfg(test)]
#[path = "agent/fault.rs"]
mod fault;
#[cfg(test)]
#[path = "agent/gap.rs"]
mod gap;
#[cfg(test)]
#[path = "agent/harness.rs"]
mod harness;
#[cfg(test)]
#[path = "agent/inbox.rs"]
mod inbox;
#[cfg(test)]
#[path = "agent/keys.rs"]
mod keys;
#[cfg(test)]
#[path = "agent/limits.rs"]
mod limits;
#[cfg(test)]
#[path = "agent/list.rs"]
mod list;
#[cfg(test)]
#[path = "agent/operator.rs"]
mod operator;
#[cfg(test)]
#[path = "agent/outage.rs"]
mod outage;
#[cfg(test)]
#[path = "agent/query.rs"]
mod query;
#[cfg(test)]
#[path = "agent/retry.rs"]
mod retry;
#[cfg(test)]
#[path = "agent/tenants.rs"]
mod tenants;
#[cfg(test)]
#[path = "agent/wait.rs"]
mod wait;
