//! The protocol on standard input and output, for a client that starts this process.

use client::Client;
use rmcp::ServiceExt;
use rmcp::transport::stdio_pipes;

use crate::server::Server;

/// Why the protocol could not be served.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client did not begin as the protocol says.
    #[error("the client did not begin with the Model Context Protocol")]
    Begin(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The task that serves has failed.
    #[error("the task that serves the client has failed")]
    Task(#[source] tokio::task::JoinError),
}

/// Serves one agent until its client closes standard input.
pub async fn serve_stdio(agent: Client) -> Result<(), StdioError> {
    let running = Server::of(agent).serve(stdio_pipes()).await;
    let running = running.map_err(|error| StdioError::Begin(error.into()))?;
    running.waiting().await.map_err(StdioError::Task)?;
    Ok(())
}
