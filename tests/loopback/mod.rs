//! A hand-written HTTP/1.1 server on this machine for tests: it plays one script a request, in order or as the
//! request asks for, and can be asked how many connections were made and when a peer has closed one. Several can
//! share a [`Journal`], which tells what came before what. No test needs to sleep.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a broken fixture fails its test")]
#![allow(dead_code, reason = "each test binary uses its own part of this")]

#[cfg(feature = "bedrock")]
pub mod bedrock;
pub mod frames;
pub mod journal;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use journal::{Journal, Moment};

/// What the server does next within one response.
pub enum Step {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes so many times, or until the peer closes, which [`Loopback::peer_closed`] then reports.
    Flood(Vec<u8>, usize),
    /// Sends bytes again and again, at this pace, until the peer closes, which [`Loopback::peer_closed`] then reports.
    Drip(Vec<u8>, Duration),
    /// Waits for the gate to be opened with `notify_one`.
    Gate(Arc<Notify>),
    /// Waits for something to come to pass.
    Until(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// Waits until the peer closes, which [`Loopback::peer_closed`] then reports.
    Hold,
    /// Closes the connection in good order.
    Close,
    /// Breaks the connection off: the peer reads an error, not an end.
    Reset,
}

/// One response.
pub type Script = Vec<Step>;

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// Request line and headers.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("requests are JSON")
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<String> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

/// What is answered to which request.
type Answers = Box<dyn Fn(&Request) -> Script + Send + Sync>;

/// Where a server writes down what becomes of its requests.
pub struct Log {
    /// The server's name there.
    pub name: &'static str,
    /// How a request is called there.
    pub about: fn(&Request) -> String,
    /// The journal.
    pub journal: Journal,
}

struct Seen {
    answers: Answers,
    log: Log,
    requests: Mutex<Vec<Request>>,
    connections: AtomicUsize,
    flooded: AtomicUsize,
}

/// The server. Dropping it closes everything.
pub struct Loopback {
    address: SocketAddr,
    seen: Arc<Seen>,
    arrived: Arc<Semaphore>,
    closed: Arc<Semaphore>,
    _tasks: JoinSet<()>,
}

impl Loopback {
    /// Starts on a free port with these scripts; a request beyond them is answered with 500.
    pub async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let scripts: Mutex<VecDeque<Script>> = Mutex::new(scripts.into_iter().collect());
        let next = move |_: &Request| {
            let script = scripts.lock().unwrap().pop_front();
            script.unwrap_or_else(|| plain("500 No Script", "text/plain", "no script"))
        };
        let about = |_: &Request| String::new();
        let log = Log { name: "loopback", about, journal: Journal::default() };
        Self::answering(log, next).await
    }

    /// Starts on a free port; `answers` says what each request gets.
    pub async fn answering(
        log: Log,
        answers: impl Fn(&Request) -> Script + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("bound");
        let seen = Arc::new(Seen {
            answers: Box::new(answers),
            log,
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            flooded: AtomicUsize::new(0),
        });
        let (arrived, closed) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let mut tasks = JoinSet::new();
        let (s, a, c) = (seen.clone(), arrived.clone(), closed.clone());
        tasks.spawn(async move {
            let mut peers = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                s.connections.fetch_add(1, Ordering::SeqCst);
                // Small pieces are not gathered: what a script sends has left before its next step.
                let _ = socket.set_nodelay(true);
                peers.spawn(serve(socket, s.clone(), a.clone(), c.clone()));
            }
        });
        Self { address, seen, arrived, closed, _tasks: tasks }
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Bytes of floods that went out so far, those in the system's buffers included.
    pub fn flooded(&self) -> usize {
        self.seen.flooded.load(Ordering::SeqCst)
    }

    /// Requests read so far.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap().clone()
    }

    /// Waits for a further request to have been read whole.
    pub async fn request_arrived(&self) {
        self.arrived.acquire().await.expect("never closed").forget();
    }

    /// Waits for a peer to close a connection that a script holds.
    pub async fn peer_closed(&self) {
        self.closed.acquire().await.expect("never closed").forget();
    }
}

async fn serve(
    mut socket: TcpStream,
    seen: Arc<Seen>,
    arrived: Arc<Semaphore>,
    closed: Arc<Semaphore>,
) {
    while let Some(request) = read_request(&mut socket).await {
        let script = (seen.answers)(&request);
        let about = (seen.log.about)(&request);
        seen.requests.lock().unwrap().push(request);
        let note = |moment| seen.log.journal.note(seen.log.name, &about, moment);
        note(Moment::Arrived);
        arrived.add_permits(1);
        for step in script {
            match play(&mut socket, step, &seen).await {
                Played::On => {}
                Played::PeerClosed => {
                    note(Moment::PeerClosed);
                    closed.add_permits(1);
                    return;
                }
                Played::Over => {
                    note(Moment::Answered);
                    return;
                }
            }
        }
        note(Moment::Answered);
    }
}

/// How a step of a script went.
enum Played {
    On,
    PeerClosed,
    /// The connection is closed by us.
    Over,
}

async fn play(socket: &mut TcpStream, step: Step, seen: &Seen) -> Played {
    match step {
        Step::Send(bytes) => {
            if socket.write_all(&bytes).await.is_err() {
                return Played::PeerClosed;
            }
        }
        Step::Flood(bytes, times) => {
            for _ in 0..times {
                if socket.write_all(&bytes).await.is_err() {
                    return Played::PeerClosed;
                }
                seen.flooded.fetch_add(bytes.len(), Ordering::SeqCst);
            }
        }
        Step::Drip(bytes, pace) => {
            drip(socket, &bytes, pace).await;
            return Played::PeerClosed;
        }
        Step::Gate(gate) => gate.notified().await,
        Step::Until(happened) => happened.await,
        Step::Hold => {
            hold(socket).await;
            return Played::PeerClosed;
        }
        Step::Close => return Played::Over,
        Step::Reset => {
            socket.set_zero_linger().expect("an open socket");
            return Played::Over;
        }
    }
    Played::On
}

/// Reads until the peer closes.
async fn hold(socket: &mut TcpStream) {
    let mut rest = [0; 256];
    while matches!(socket.read(&mut rest).await, Ok(1..)) {}
}

async fn drip(socket: &mut TcpStream, bytes: &[u8], pace: Duration) {
    let mut ticks = interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut rest = [0; 256];
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                if socket.write_all(bytes).await.is_err() {
                    return;
                }
            }
            read = socket.read(&mut rest) => {
                if !matches!(read, Ok(1..)) {
                    return;
                }
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let request = Request { head, body: bytes[end + 4..].to_vec() };
            let length = request.header("content-length").map_or(0, |l| l.parse().unwrap());
            if request.body.len() >= length {
                return Some(request);
            }
        }
        match socket.read(&mut chunk).await {
            Ok(read @ 1..) => bytes.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

/// A whole response with its length, after which the connection stays open.
pub fn plain(status: &str, content_type: &str, body: &str) -> Script {
    with_headers(status, &[("content-type", content_type)], body)
}

/// A whole response with these headers and its length.
pub fn with_headers(status: &str, headers: &[(&str, &str)], body: &str) -> Script {
    let lines: Vec<String> = headers.iter().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
    let lines = lines.concat();
    let length = body.len();
    vec![Step::Send(
        format!("HTTP/1.1 {status}\r\n{lines}content-length: {length}\r\n\r\n{body}").into_bytes(),
    )]
}

/// The head of a chunked event stream.
pub fn stream_head() -> Step {
    head_of("text/event-stream")
}

/// The head of a chunked response of a content type.
pub fn head_of(content_type: &str) -> Step {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    Step::Send(head.into_bytes())
}

/// One chunk of a stream.
pub fn chunk(text: &str) -> Step {
    chunk_of(text.as_bytes())
}

/// One chunk of a stream that is no text.
pub fn chunk_of(content: &[u8]) -> Step {
    Step::Send([format!("{:x}\r\n", content.len()).as_bytes(), content, b"\r\n"].concat())
}

/// The end of a chunked stream, in good order.
pub fn last_chunk() -> Step {
    Step::Send(b"0\r\n\r\n".to_vec())
}

/// A whole event stream, one chunk a piece.
pub fn stream(pieces: &[&str]) -> Script {
    let chunks = pieces.iter().map(|piece| chunk(piece));
    [stream_head()].into_iter().chain(chunks).chain([last_chunk()]).collect()
}
