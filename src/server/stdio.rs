//! Serving one connection, and what ends it: the end of input, or a signal.
//!
//! Both take the same way: the reader reports the end of input, calls in flight get a bounded time to be
//! answered, then they are cancelled. rmcp alone would keep a subscription open for its whole drain, and would
//! cancel every call at once on a signal.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::nonsense::Lines;
use super::runs::Runs;
use super::signals::Signals;
use super::{Server, ServerOptions};
use crate::definition::catalog::Catalog;

/// Beyond the drain: for the last answers to be written.
const LAST_WRITE: Duration = Duration::from_millis(1500);
/// For runs that nobody waits for any more to write their record.
const LAST_RECORD: Duration = Duration::from_secs(1);

/// Why serving ended. None of these is a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeEnd {
    /// The client closed our input.
    InputClosed,
    /// The token given to [`serve_on`] was cancelled.
    Stopped,
    /// A signal; its number, for the exit code 128 + n.
    Signal(i32),
}

/// Why a connection could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Signals cannot be waited for.
    #[error("cannot wait for signals: {0}")]
    Signals(#[source] io::Error),
    /// The client's first message is none that MCP begins with.
    #[error(
        "the client did not begin an MCP session: {}; 'serve' is meant to be started by an MCP client, see 'punctual serve --help'",
        words(.0)
    )]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The protocol loop broke off.
    #[error("the MCP connection broke off: {0}")]
    Broken(#[source] tokio::task::JoinError),
}

/// What rmcp says in the names of its types, in words.
fn words(error: &ServerInitializeError) -> String {
    match error {
        ServerInitializeError::ExpectedInitializeRequest(None)
        | ServerInitializeError::ConnectionClosed(_) => {
            "it closed standard input before it sent 'initialize'".to_owned()
        }
        ServerInitializeError::ExpectedInitializeRequest(Some(message)) => {
            let message = serde_json::to_value(message).unwrap_or_default();
            match message.get("method").and_then(serde_json::Value::as_str) {
                Some(method) => {
                    let shown: String = method.chars().take(80).collect();
                    format!("its first message is '{}', not 'initialize'", shown.escape_debug())
                }
                None => "its first message is no request".to_owned(),
            }
        }
        ServerInitializeError::UnexpectedInitializeResponse(_) => {
            "it was answered with something else than the server's greeting".to_owned()
        }
        ServerInitializeError::InitializeFailed(error) => error.message.to_string(),
        ServerInitializeError::TransportError { error, .. } => {
            format!("the answer to 'initialize' could not be sent ({})", error.error)
        }
        ServerInitializeError::Cancelled => "it was cancelled".to_owned(),
        _ => "the greeting failed".to_owned(),
    }
}

/// Serves MCP on standard input and output until the client closes its end, or a signal comes.
///
/// Ends at most `options.drain` and about 2.5 s after that; a second signal ends it at once. Where standard
/// input is no pipe, a thread may still be blocked in reading it: leave the process through
/// `Runtime::shutdown_background` and an exit, never by waiting for the runtime.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve_stdio<H: Runs>(
    host: Arc<H>,
    catalog: watch::Receiver<Arc<Catalog>>,
    options: ServerOptions,
) -> Result<ServeEnd, ServeError> {
    let mut signals = Signals::listen().map_err(ServeError::Signals)?;
    let stop = CancellationToken::new();
    let (read, write) = rmcp::transport::io::stdio_pipes();
    let serving = serve_on(host.clone(), catalog, options, read, write, stop.clone());
    tokio::pin!(serving);
    let mut caught = None;
    let end = loop {
        tokio::select! {
            end = &mut serving => break end,
            signal = signals.next() => {
                if caught.replace(signal).is_some() {
                    break Ok(ServeEnd::Signal(signal));
                }
                tracing::info!(signal, "stopping: calls in flight get {:?} to end", options.drain);
                stop.cancel();
            }
        }
    };
    if timeout(LAST_RECORD, host.drain(Duration::ZERO)).await.is_err() {
        tracing::warn!("some runs did not end in time");
    }
    match caught {
        Some(signal) => end.map(|_| ServeEnd::Signal(signal)),
        None => end,
    }
}

/// Serves MCP on any pair of streams until `read` ends or `stop` is cancelled.
///
/// # Errors
/// See [`ServeError`].
pub async fn serve_on<H, R, W>(
    host: Arc<H>,
    catalog: watch::Receiver<Arc<Catalog>>,
    options: ServerOptions,
    read: R,
    write: W,
    stop: CancellationToken,
) -> Result<ServeEnd, ServeError>
where
    H: Runs,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let closing = CancellationToken::new();
    let server = Arc::new(Server::new(host, catalog, options, closing.clone()));
    let drain = server.options.drain;
    let read = Input::new(read, stop.clone(), closing.clone());
    let service = match serve_server(server.clone(), (read, write)).await {
        Ok(service) => service,
        Err(_) if closing.is_cancelled() => return Ok(end_of(&stop)),
        Err(error) => return Err(ServeError::Handshake(Box::new(error))),
    };
    let outcome = tokio::select! {
        quit = service.waiting() => quit,
        () = async { closing.cancelled().await; sleep(drain + LAST_WRITE).await } => {
            tracing::warn!("the client does not read: some answers could not be written");
            Ok(QuitReason::Closed)
        }
        never = server.announce() => match never {},
    };
    match outcome {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Broken(error)),
        Ok(_) => Ok(end_of(&stop)),
    }
}

fn end_of(stop: &CancellationToken) -> ServeEnd {
    if stop.is_cancelled() { ServeEnd::Stopped } else { ServeEnd::InputClosed }
}

/// A reader that ends when it is told to stop, and says so when it ends.
struct Input<R> {
    inner: R,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    closing: CancellationToken,
    lines: Lines,
}

impl<R> Input<R> {
    fn new(inner: R, stop: CancellationToken, closing: CancellationToken) -> Self {
        Self { inner, stop: Box::pin(stop.cancelled_owned()), closing, lines: Lines::default() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closing.is_cancelled() || this.stop.as_mut().poll(cx).is_ready() {
            this.closing.cancel();
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.inner).poll_read(cx, buf);
        let over = match &polled {
            Poll::Ready(Ok(())) => buf.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        this.lines.look(buf.filled().get(before..).unwrap_or_default());
        if over {
            this.closing.cancel();
        }
        polled
    }
}
