//! The API as an agent uses it: a real server on a free port over a real database.
//! Names such as A13 are rows of the catalogue of bad input in `tests/README.md`.

#[cfg(test)]
mod attempt;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod auth;
#[cfg(test)]
mod body;
#[cfg(test)]
mod consume;
#[cfg(test)]
mod cursor_gap;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod events;
#[cfg(test)]
mod faulty_store;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod inbox;
#[cfg(test)]
mod key_api;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod list;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod openapi_check;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod query;
#[cfg(test)]
mod rate_limits;
#[cfg(test)]
mod reply;
#[cfg(test)]
mod send;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod unknown_paths;
#[cfg(test)]
mod wait;
