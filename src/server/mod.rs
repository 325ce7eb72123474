//! MCP: workflows as tools, for clients of both protocol eras. The only room that knows rmcp.
//!
//! It decides nothing about a run. It pins the catalog's current version of a workflow, starts a run, tells its
//! progress, and puts the report into words. Three promises are its own: `tools/list` never waits behind a run,
//! nothing a client does or fails to do can block a run, and the end of input ends the process in bounded time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
    Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

mod argument;
mod call;
pub mod client;
mod fixed;
mod measured;
mod nonsense;
mod notify;
mod progress;
mod runs;
mod signals;
mod stdio;
mod text;
mod tool;

pub use runs::{Run, Runs};
pub use signals::Signals;
pub use stdio::{ServeEnd, ServeError, serve_on, serve_stdio};

use crate::definition::catalog::Catalog;
use crate::driver::CallOptions;
use tool::Toolbox;

/// What log filters must hold rmcp to: at `debug` it logs whole requests and results, prompts included.
pub const LOG_CEILING: &str = "rmcp=warn";

/// Most calls open at once on one connection.
const CALLS_MAX: usize = 256;

/// How a connection is served.
#[derive(Clone, Copy, Debug)]
pub struct ServerOptions {
    /// Whether `list_workflows`, `run_workflow`, `get_run` and `cancel_run` stand beside the workflows.
    pub fixed_tools: bool,
    /// How long calls in flight may go on after the end of input or a signal; at most 4 s, because rmcp drops
    /// answers 5 s after it.
    pub drain: Duration,
    /// When a call is answered with its run id instead of its result, for clients that hang up after 60 s.
    /// `None` never does, nor does a server without the fixed tools.
    pub hand_over: Option<Duration>,
    /// Whether the trace of a run keeps what models are sent and say.
    pub content: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            fixed_tools: true,
            drain: Duration::from_secs(4),
            hand_over: Some(Duration::from_secs(55)),
            content: false,
        }
    }
}

/// One connection's handler.
struct Server<H: Runs> {
    host: Arc<H>,
    catalog: watch::Receiver<Arc<Catalog>>,
    options: ServerOptions,
    toolbox: Mutex<Arc<Toolbox>>,
    audience: notify::Audience,
    calls: Semaphore,
    /// Cancelled at the end of input.
    closing: CancellationToken,
}

impl<H: Runs> Server<H> {
    fn new(
        host: Arc<H>,
        catalog: watch::Receiver<Arc<Catalog>>,
        options: ServerOptions,
        closing: CancellationToken,
    ) -> Self {
        let first = Arc::new(Toolbox::of(&catalog.borrow(), options.fixed_tools));
        Self {
            host,
            catalog,
            options: ServerOptions { drain: options.drain.min(Duration::from_secs(4)), ..options },
            toolbox: Mutex::new(first),
            audience: notify::Audience::default(),
            calls: Semaphore::new(CALLS_MAX),
            closing,
        }
    }

    /// The current generation. A call keeps the workflow it found in it.
    fn catalog(&self) -> Arc<Catalog> {
        self.catalog.borrow().clone()
    }

    /// The tools of the current generation, built when they are first asked for.
    fn toolbox(&self) -> Arc<Toolbox> {
        let catalog = self.catalog();
        let mut kept = self.toolbox.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.generation() != catalog.generation {
            *kept = Arc::new(Toolbox::of(&catalog, self.options.fixed_tools));
        }
        kept.clone()
    }

    /// Completes when calls in flight have had their time after the end of input.
    async fn drained(&self) {
        self.closing.cancelled().await;
        sleep(self.options.drain).await;
    }

    /// Tells clients of every generation whose tools differ from the last one's.
    async fn announce(&self) -> std::convert::Infallible {
        let mut catalog = self.catalog.clone();
        let mut told = self.toolbox();
        while catalog.changed().await.is_ok() {
            catalog.mark_unchanged();
            let now = self.toolbox();
            if now.tools() != told.tools() {
                self.audience.tools_changed().await;
            }
            told = now;
        }
        std::future::pending().await
    }
}

impl<H: Runs> ServerHandler for Server<H> {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("punctual", env!("CARGO_PKG_VERSION")).with_title("Punctual"),
            )
            .with_instructions(text::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.toolbox().tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.toolbox().tool(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ok(_open) = self.calls.try_acquire() else {
            return Ok(call::error(text::BUSY).into());
        };
        let arguments = request.arguments.unwrap_or_default();
        let catalog = self.catalog();
        let found = catalog.workflows.get(request.name.as_ref()).filter(|w| w.exposed);
        if let Some(workflow) = found {
            let (input, options) = (Value::Object(arguments), CallOptions::default());
            return Ok(call::answer(self, workflow, input, options, &context).await.into());
        }
        let mut more: &[&str] = &[];
        if self.options.fixed_tools {
            if let Some(result) = fixed::answer(self, &request.name, arguments, &context).await {
                return Ok(result.into());
            }
            more = &fixed::FIXED_TOOLS;
        }
        // Not a protocol error: a client with a stale list shows its model this text only.
        Ok(call::error(fixed::missing(&catalog, "tool", &request.name, more)).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        call::malformed(&request, &context)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.audience.join(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        if !self.audience.subscribe(context.sink().clone()) {
            return Err(ErrorData::invalid_request(
                "too many subscriptions on this connection",
                None,
            ));
        }
        // At the end of input a subscription that went on would hold up rmcp's drain for all of its 5 s.
        tokio::select! {
            () = context.cancelled() => {}
            () = self.closing.cancelled() => {}
        }
        self.audience.unsubscribe(context.sink().id());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
