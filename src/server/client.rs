//! The other end of the connection: a small MCP client, for the demo and for tests of a whole process.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
    ProgressNotificationParam, ProtocolVersion, RequestMetaObject,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::fixed::REPORT_META;
use crate::trace::report::RunReport;

/// Progress that is not read in time is dropped beyond so many notifications.
const PROGRESS_MAX: usize = 256;
/// Longest wait for a server to begin a session, and to end it.
const SESSION: Duration = Duration::from_secs(20);

/// A connection to a server.
pub struct Client {
    service: RunningService<RoleClient, Listener>,
}

/// A tool as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCard {
    /// Its name.
    pub name: String,
    /// Its title, or its name.
    pub title: String,
    /// What it is for.
    pub description: String,
}

/// A progress notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// How far it is.
    pub progress: f64,
    /// How far it goes.
    pub total: Option<f64>,
    /// What it is at.
    pub message: String,
}

/// A tool's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Whether it says what went wrong.
    pub is_error: bool,
    /// The structured result.
    pub structured: Option<Value>,
    /// The texts, which models read.
    pub texts: Vec<String>,
    /// The run's report, where it was asked for.
    pub report: Option<RunReport>,
}

/// What went wrong on the connection.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The session could not be begun.
    #[error("the MCP session could not be begun: {0}")]
    Session(#[source] Box<ClientInitializeError>),
    /// The server says nothing.
    #[error("the server did not begin an MCP session within {} s", SESSION.as_secs())]
    Silent,
    /// A request went wrong.
    #[error("the MCP request failed: {0}")]
    Request(#[source] Box<ServiceError>),
}

/// Takes progress in.
struct Listener {
    told: mpsc::Sender<Told>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("punctual-client", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn on_progress(
        &self,
        param: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let message = param.message.unwrap_or_default();
        let told = Told { progress: param.progress, total: param.total, message };
        let _ = self.told.try_send(told);
    }
}

impl Client {
    /// Begins a session on a server's output and input. Progress of all calls arrives at the receiver.
    ///
    /// # Errors
    /// The server is no MCP server, or says nothing for 20 s.
    pub async fn connect<R, W>(
        read: R,
        write: W,
    ) -> Result<(Self, mpsc::Receiver<Told>), ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (told, progress) = mpsc::channel(PROGRESS_MAX);
        let mode = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        let begun = serve_client_with_lifecycle(Listener { told }, (read, write), mode);
        match timeout(SESSION, begun).await {
            Ok(Ok(service)) => Ok((Self { service }, progress)),
            Ok(Err(error)) => Err(ClientError::Session(Box::new(error))),
            Err(_) => Err(ClientError::Silent),
        }
    }

    /// The server's tools.
    ///
    /// # Errors
    /// The connection broke off.
    pub async fn tools(&self) -> Result<Vec<ToolCard>, ClientError> {
        let tools = self.service.list_all_tools().await.map_err(broken)?;
        let card = |tool: rmcp::model::Tool| ToolCard {
            title: tool.title.unwrap_or_else(|| tool.name.to_string()),
            description: tool.description.map(String::from).unwrap_or_default(),
            name: tool.name.into_owned(),
        };
        Ok(tools.into_iter().map(card).collect())
    }

    /// Calls a tool and waits for its answer.
    ///
    /// # Errors
    /// The connection broke off, or the protocol was. A tool's own trouble is an [`Answer`].
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Answer, ClientError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.service.call_tool(params).await.map_err(broken)?;
        Ok(answer(result))
    }

    /// A run's report as it stands, after waiting for its end for `wait` at most.
    ///
    /// # Errors
    /// See [`Client::call`].
    pub async fn report(&self, run_id: &str, wait: Duration) -> Result<Answer, ClientError> {
        let mut arguments = Map::new();
        arguments.insert("run_id".to_owned(), Value::from(run_id));
        arguments.insert("wait_s".to_owned(), Value::from(wait.as_secs_f64()));
        let mut params = CallToolRequestParams::new("get_run").with_arguments(arguments);
        let mut meta = RequestMetaObject::new();
        meta.0.insert(REPORT_META.to_owned(), Value::Bool(true));
        params.meta = Some(meta);
        let result = self.service.call_tool(params).await.map_err(broken)?;
        Ok(answer(result))
    }

    /// Ends the session.
    pub async fn close(mut self) {
        let _ = self.service.close_with_timeout(SESSION).await;
    }
}

fn broken(error: ServiceError) -> ClientError {
    ClientError::Request(Box::new(error))
}

fn answer(result: CallToolResult) -> Answer {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let report = result.meta.as_ref().and_then(|meta| meta.get(REPORT_META));
    Answer {
        is_error: result.is_error.unwrap_or(false),
        texts: texts.map(|text| text.text.clone()).collect(),
        report: report.and_then(|report| serde_json::from_value(report.clone()).ok()),
        structured: result.structured_content,
    }
}
