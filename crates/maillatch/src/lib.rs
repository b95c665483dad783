//! Maillatch: receives e-mail by webhook and hands an agent the one code or link
//! it waits for, at most once.
//!
//! This crate has no domain rules. It reads the configuration, wires the other
//! crates into roles, and provides the commands. Start reading at [`main`]:
//! `command` has one file for each command, `wire` builds the concrete parts,
//! `serve` runs them. [`deployment`] is public because the demo and the end-to-end
//! tests share it.

mod certificates;
mod command;
mod config;
mod dev;
mod log_limit;
mod ops;
mod panic_hook;
mod remote;
mod secrets;
mod serve;
mod server_clock;
mod shutdown;
mod supervise;
mod telemetry;
mod wire;

pub mod deployment;

pub use command::main;
