//! The protocol's server: it lists the tools and calls them.

use std::time::Duration;

use client::{CallError, Client};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::arguments::{self, Wait, Wanted};
use crate::progress::reported;
use crate::{answer, catalogue, sending, tools};

/// How long a list of the tools waits for the senders.
const SENDERS_TIMEOUT: Duration = Duration::from_secs(5);

/// The tools, for one agent or for the caller of each request.
#[derive(Clone)]
pub(crate) struct Server {
    agent: Option<Client>,
}

impl Server {
    /// For one agent.
    pub(crate) fn of(agent: Client) -> Self {
        Self { agent: Some(agent) }
    }

    /// For the agents whose clients the requests carry.
    pub(crate) fn for_requests() -> Self {
        Self { agent: None }
    }

    fn client(&self, context: &RequestContext<RoleServer>) -> Result<Client, ErrorData> {
        let carried = context.extensions.get::<http::request::Parts>();
        let carried = carried.and_then(|parts| parts.extensions.get::<Client>());
        let client = self.agent.as_ref().or(carried);
        let missing = || ErrorData::internal_error("the request names no agent", None);
        client.cloned().ok_or_else(missing)
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let client = self.client(context)?;
        let given = request.arguments.unwrap_or_default();
        let outcome = match request.name.as_ref() {
            "wait_for_code" => return Ok(wait(&client, Wanted::Code, given, context).await),
            "wait_for_link" => return Ok(wait(&client, Wanted::Link, given, context).await),
            name => run(&client, name, given).await,
        };
        match outcome {
            Ok(Some(answer)) => Ok(answer::result(answer)),
            Ok(None) => Err(ErrorData::invalid_params("there is no such tool", None)),
            Err(why) => Ok(answer::refused(&why)),
        }
    }
}

/// Runs a tool that does not wait; `None` if there is none with this name. The error says
/// what is wrong with the arguments.
async fn run(
    client: &Client,
    name: &str,
    given: Map<String, Value>,
) -> Result<Option<Result<Value, CallError>>, String> {
    Ok(Some(match name {
        "start_attempt" => tools::start(client, arguments::read(given)?).await,
        "request_resend" => tools::resend(client, &arguments::read(given)?).await,
        "explain_attempt" => tools::explain(client, &arguments::read(given)?).await,
        "finish_attempt" => tools::finish(client, &arguments::read(given)?).await,
        "send_mail" => sending::send_mail(client, arguments::read(given)?).await,
        "reply" => sending::reply(client, arguments::read(given)?).await,
        "send_status" => sending::status(client, &arguments::read(given)?).await,
        _ => return Ok(None),
    }))
}

async fn wait(
    client: &Client,
    wanted: Wanted,
    given: Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let arguments: Wait = match arguments::read(given) {
        Ok(arguments) => arguments,
        Err(why) => return answer::refused(&why),
    };
    let work = tools::wait(client, wanted, &arguments);
    answer::result(reported(context, arguments.timeout(), work).await)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools().build();
        let name = Implementation::new("maillatch", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(tools)
            .with_server_info(name)
            .with_instructions(catalogue::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let client = self.client(&context)?;
        // A key without the scopes, and a server that does not answer, have no senders.
        let asked = timeout(SENDERS_TIMEOUT, client.senders()).await;
        let senders = asked.ok().and_then(Result::ok).unwrap_or_default();
        let tools = catalogue::tools_with(&senders);
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// Calls a tool. A client that cancels the call, or hangs up, ends it, and nothing is
    /// consumed.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let cancelled = context.ct.clone();
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
            result = self.call(request, &context) => result.map(CallToolResponse::from),
        }
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        catalogue::tools()
            .into_iter()
            .find(|tool| tool.name == name)
    }
}
