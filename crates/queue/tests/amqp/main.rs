//! The queue in RabbitMQ, against a real broker.

#[expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "these are steps of tests"
)]
mod broker;
mod contract;
mod outage;
mod restart;
mod tls;
mod topology;
