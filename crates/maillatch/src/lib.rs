//! Maillatch: receives e-mail by webhook and hands an agent the one code or link
//! it waits for, at most once.
//!
//! This crate has no domain rules. It reads the configuration, wires the other
//! crates into roles, and provides the commands. Start reading at [`main`]:
//! `command` has one file for each command, `wire` builds the concrete parts,
//! `serve` runs them. [`deployment`] and [`client`] are public because the demo
//! and the end-to-end tests share them.

mod certificates;
mod command;
mod config;
mod dev;
mod log_limit;
mod ops;
mod panic_hook;
mod secrets;
mod serve;
mod shutdown;
mod supervise;
mod telemetry;
mod wire;

pub mod client;
pub mod deployment;

pub use command::main;
