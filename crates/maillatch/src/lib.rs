//! Maillatch: receives e-mail by webhook and hands an agent the one code or link
//! it waits for, at most once.
//!
//! This crate holds no rules of the domain: it reads the configuration, wires
//! the other crates into roles, and talks to people. The way in is [`main`];
//! `cli` names the commands, `command` has one file for each, `wire` knows the
//! concrete parts, `serve` runs them. What the end-to-end tests share with the
//! demo is public: [`deployment`] and [`client`].

mod certificates;
mod cli;
mod command;
mod config;
mod dev;
mod last_words;
mod ops;
mod secrets;
mod serve;
mod shutdown;
mod telemetry;
mod wire;

pub mod client;
pub mod deployment;

pub use command::main;
