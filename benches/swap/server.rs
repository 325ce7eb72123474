//! A family's server: HTTP/1.1 on loopback, connections kept open, answers streamed.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::desk::{Answer, Desk, End, Speech};
use crate::wire::{Family, Request, refusal};

/// Most bytes of a request.
const REQUEST_MAX: usize = 1 << 20;

/// A server. Dropping it closes everything.
pub struct Server {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Starts on a free port.
    pub async fn start(family: Family, desk: Arc<Desk>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("bound");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut peers = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                peers.spawn(serve(socket, family, desk.clone()));
                while peers.try_join_next().is_some() {}
            }
        });
        Self { address, _tasks: tasks }
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn serve(mut socket: TcpStream, family: Family, desk: Arc<Desk>) {
    while let Some((head, body)) = read(&mut socket).await {
        let done = match Request::read(family, &head, &body) {
            Err((status, words)) => refuse(&mut socket, family, status, words, None).await,
            Ok(request) => match desk.serve(&request) {
                Answer::Refused { status, words, wait } => {
                    refuse(&mut socket, family, status, words, wait).await
                }
                Answer::Spoken(speech) => speak(&mut socket, &desk, &request, &speech).await,
                Answer::Silence => hold(&mut socket).await,
            },
        };
        if done.is_none() {
            return;
        }
    }
}

/// `None` where the connection is to be closed.
async fn speak(
    socket: &mut TcpStream,
    desk: &Desk,
    request: &Request,
    speech: &Speech,
) -> Option<()> {
    sleep(speech.first).await;
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let opening = format!("{head}{}", chunk(&request.opening()));
    socket.write_all(opening.as_bytes()).await.ok()?;
    let mut said = 0;
    for (piece, pace) in &speech.pieces {
        // Noted first: whoever has read it may ask again before this task is next.
        desk.said(speech.ticket(), piece);
        said += crate::wire::tokens(piece.len());
        socket.write_all(chunk(&request.piece(piece)).as_bytes()).await.ok()?;
        sleep(*pace).await;
    }
    desk.finished(speech);
    match speech.end {
        End::Whole => {
            let end = chunk(&request.closing(said)) + "0\r\n\r\n";
            socket.write_all(end.as_bytes()).await.ok()
        }
        End::Clean => socket.write_all(b"0\r\n\r\n").await.ok(),
        End::Broken => None,
        End::Never => hold(socket).await,
    }
}

/// Says nothing more, until the peer closes.
async fn hold(socket: &mut TcpStream) -> Option<()> {
    let mut rest = [0; 256];
    while matches!(socket.read(&mut rest).await, Ok(1..)) {}
    None
}

async fn refuse(
    socket: &mut TcpStream,
    family: Family,
    status: u16,
    words: &str,
    wait: Option<std::time::Duration>,
) -> Option<()> {
    let body = refusal(family, status, words);
    let wait = wait.map(|wait| format!("retry-after-ms: {}\r\n", wait.as_millis().max(1)));
    let response = format!(
        "HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\r\n{body}",
        wait.unwrap_or_default(),
        body.len()
    );
    socket.write_all(response.as_bytes()).await.ok()
}

fn chunk(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{:x}\r\n{text}\r\n", text.len()) }
}

/// The head and body of the next request; `None` where there is none.
async fn read(socket: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    while bytes.len() < REQUEST_MAX {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let body = end + 4;
            if bytes.len() - body >= length.unwrap_or(0) {
                return Some((head, bytes[body..].to_vec()));
            }
        }
        match socket.read(&mut buffer).await {
            Ok(read @ 1..) => bytes.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    }
    None
}
