//! The only HTTP in the crate: sends what a dialect encoded, hands what comes back to a [`Reader`].
//!
//! There is no total timeout here, because an attempt's time belongs to its step: the driver drops the
//! future, which closes the connection. What is bounded here is what no step should have to know of:
//! connecting, error bodies, and the tail behind an answer that is complete already.

use std::error::Error;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use tokio::time::{Sleep, sleep};

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::policy::rate::Told;

use super::classify::{Head, Lost, brief, lost};
use super::correction::Correction;
use super::dialect::Dialect;
use super::lesson::Lessons;
use super::reader::{Reader, Wants};
use super::secret::Secret;
use super::{BoxFuture, Broken, Exchange, Provider, Reply, Sink};

/// Longest time for a connection to stand, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest time for an error's body after its head.
const ERROR_BODY: Duration = Duration::from_secs(5);
/// Longest time for counts behind a complete answer.
const COUNTS: Duration = Duration::from_secs(2);
/// Longest time for the response's end behind its last event; without it the connection is not reused.
const LAST_BYTE: Duration = Duration::from_millis(50);
/// A connection lost this soon after sending, before any answer, was closed by the server in the meantime.
const STALE: Duration = Duration::from_secs(1);
/// Fewest characters of a secret, or of its half, that are struck out of messages.
const SHORTEST: usize = 6;
/// Idle connections kept for each host.
const IDLE_PER_HOST: usize = 32;

/// The connection pools of one server process, built when first needed: loading the system's certificates
/// takes time that a server with simulated providers alone should not pay.
#[derive(Default)]
pub struct Clients {
    direct: Option<Client>,
    proxied: Option<Client>,
}

impl Clients {
    /// The client for `url`. Proxies named in the environment (`HTTPS_PROXY`, `NO_PROXY`, ...) are used,
    /// except for this machine itself.
    ///
    /// # Errors
    /// The system's TLS set-up cannot be used; in words.
    pub fn client_for(&mut self, url: &Url) -> Result<Client, String> {
        let direct = is_loopback(url);
        let slot = if direct { &mut self.direct } else { &mut self.proxied };
        if let Some(client) = slot {
            return Ok(client.clone());
        }
        let client = build(direct)?;
        Ok(slot.insert(client).clone())
    }
}

fn build(direct: bool) -> Result<Client, String> {
    // Fails where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("punctual/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_max_idle_per_host(IDLE_PER_HOST);
    let builder = if direct { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| format!("the HTTP client cannot be set up: {}", cause(&error)))
}

/// Whether `url` names this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// A URL as people may see it: without user, password, query and fragment.
#[must_use]
pub fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
}

/// Vouches for a whole request, for servers that want a signature and no key.
pub trait Sign: Send + Sync {
    /// The headers that vouch for a request: its address, its headers so far and its body.
    ///
    /// # Errors
    /// A request or a secret that cannot be signed, in words.
    fn sign(
        &self,
        url: &Url,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Vec<(HeaderName, HeaderValue)>, String>;
}

/// A provider reached over HTTP.
pub struct HttpProvider {
    dialect: Box<dyn Dialect>,
    base: Url,
    client: Client,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    signer: Option<Box<dyn Sign>>,
    lessons: Lessons,
}

impl HttpProvider {
    /// A provider at `base`. `headers` are sent with every request and prevail over the dialect's own;
    /// `secrets` are struck out of every message.
    #[must_use]
    pub fn new(
        dialect: Box<dyn Dialect>,
        base: Url,
        client: Client,
        headers: HeaderMap,
        secrets: Vec<Secret>,
    ) -> Self {
        let lessons = Lessons::default();
        Self { dialect, base, client, headers, secrets, signer: None, lessons }
    }

    /// The same provider, whose requests are signed.
    #[must_use]
    pub fn signed(self, signer: Box<dyn Sign>) -> Self {
        Self { signer: Some(signer), ..self }
    }

    /// Sends `exchange` as it is known by now to be taken, and once more where it is refused for a part of it that can
    /// be left out or said in another way.
    async fn settle(&self, exchange: &Exchange, sink: &mut dyn Sink) -> Result<Reply, Broken> {
        let sent = self.lessons.apply(exchange);
        let refused = match self.send(&sent, sink).await {
            Ok(reply) => return Ok(reply),
            Err(broken) => broken,
        };
        let Some((correction, again)) = self.corrected(&sent, &refused) else {
            return Err(refused);
        };
        let first = refused.failure.evidence;
        sink.corrected(&format!("{correction} ({first})"));
        let mut broken = match self.send(&again, sink).await {
            Ok(reply) => return Ok(reply),
            Err(broken) => broken,
        };
        // The attempt is over; the next one of this model begins with both.
        let _ = self.corrected(&again, &broken);
        broken.failure.evidence =
            format!("{}; before it {first}, then {correction}", broken.failure.evidence);
        Err(broken)
    }

    /// What a refusal corrects, and the exchange so corrected. It is remembered where it changes the request.
    fn corrected(&self, sent: &Exchange, broken: &Broken) -> Option<(Correction, Exchange)> {
        if !broken.partial.is_empty() {
            return None;
        }
        self.lessons.overflowed(sent, &broken.failure);
        let correction = Correction::of(&broken.failure, sent)?;
        let mut again = sent.clone();
        correction.apply(&mut again);
        if self.dialect.encode(&again) == self.dialect.encode(sent) {
            return None;
        }
        self.lessons.learn(sent, correction);
        Some((correction, again))
    }

    async fn send(&self, exchange: &Exchange, sink: &mut dyn Sink) -> Result<Reply, Broken> {
        let request = self.dialect.encode(exchange);
        let decoder = self.dialect.decoder(exchange);
        let mut url = self.base.clone();
        let path = format!("{}{}", url.path().trim_end_matches('/'), request.path);
        url.set_path(&path);
        if let Some(query) = &request.query {
            url.set_query(Some(query));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        for (name, value) in request.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers.extend(self.headers.clone());
        let body = request.body.to_string();
        if let Some(signer) = &self.signer {
            match signer.sign(&url, &headers, body.as_bytes()) {
                Ok(signed) => headers.extend(signed.into_iter().map(|(n, v)| (Some(n), v))),
                Err(why) => return Err(decoder.abort(self.unsigned(&why))),
            }
        }
        let post = self.client.post(url).headers(headers).body(body).build();
        let sent = match post {
            Ok(post) => self.post(post).await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(response) => {
                let reader = Reader::new(head(&response), decoder);
                let told = reader.remaining().map(Told::from);
                if let Some(told) = &told {
                    sink.told(told);
                }
                let ended = self.receive(response, reader, sink).await;
                // An error's body may say what its head did not.
                if told.is_none()
                    && let Err(Broken { remaining: Some(left), .. }) = &ended
                {
                    sink.told(&Told::from(&**left));
                }
                ended
            }
            Err(error) => Err(decoder.abort(self.unreached(&error))),
        }
    }

    /// Sends a request, and once more where an idle connection turns out to be closed: a server that closes
    /// after each answer without saying so (llama.cpp does) races with the next request.
    async fn post(&self, request: reqwest::Request) -> Result<Response, reqwest::Error> {
        let again = request.try_clone();
        let first = self.client.execute(request);
        tokio::pin!(first);
        let soon = tokio::select! {
            biased;
            sent = &mut first => Some(sent),
            () = sleep(STALE) => None,
        };
        match (soon, again) {
            (Some(Err(error)), Some(again)) if is_stale(&error) => self.client.execute(again).await,
            (Some(sent), _) => sent,
            (None, _) => first.await,
        }
    }

    async fn receive(
        &self,
        mut response: Response,
        mut reader: Reader,
        sink: &mut dyn Sink,
    ) -> Result<Reply, Broken> {
        let mut phase = reader.wants();
        if phase == Wants::Nothing {
            return reader.end(sink);
        }
        let mut patience: Option<Pin<Box<Sleep>>> =
            reader.is_failure().then(|| Box::pin(sleep(ERROR_BODY)));
        loop {
            let chunk = tokio::select! {
                biased;
                // First, so that a tail without end cannot keep its bound from being seen.
                () = elapsed(patience.as_mut()) => return reader.end(sink),
                chunk = response.chunk() => chunk,
            };
            let wants = match chunk {
                Ok(Some(bytes)) => reader.push(&bytes, sink),
                Ok(None) => return reader.end(sink),
                Err(error) => return reader.broken(self.interrupted(&error), sink),
            };
            if wants == Wants::Nothing {
                return reader.end(sink);
            }
            if wants != phase {
                phase = wants;
                patience = match wants {
                    Wants::Counts => Some(Box::pin(sleep(COUNTS))),
                    Wants::End => Some(Box::pin(sleep(LAST_BYTE))),
                    Wants::More | Wants::Nothing => None,
                };
            }
        }
    }

    /// No response came.
    fn unreached(&self, error: &reqwest::Error) -> Failure {
        let place = shown(&self.base);
        let why = cause(error);
        if error.is_builder() {
            let message = format!("the request to {place} cannot be built: {why}");
            let failure =
                Failure::of_attempt(FailureClass::BadRequest, "unbuildable request", message);
            return Failure { scope: Scope::Provider, ..failure };
        }
        let failure = lost_without_answer(error);
        let near = is_loopback(&self.base);
        let message = if error.is_connect() && error.is_timeout() {
            format!("cannot reach {place}: no connection within 10 s")
        } else if error.is_timeout() {
            format!("the connection to {place} timed out without an answer")
        } else if error.is_connect() && near {
            format!("cannot reach {place}: {why}; is the server running?")
        } else if error.is_connect() {
            format!("cannot reach {place}: {why}; check `base_url` and the network")
        } else if failure.class == FailureClass::ServerError {
            format!("{place} answers something that is not HTTP: {why}; check `base_url`")
        } else {
            format!("{place} closed the connection without an answer: {why}")
        };
        Failure { message, ..failure }
    }

    /// A request that cannot be vouched for.
    fn unsigned(&self, why: &str) -> Failure {
        let message = format!("the request to {} cannot be signed: {why}", shown(&self.base));
        let failure = Failure::of_attempt(FailureClass::Auth, "unsigned request", message);
        Failure { scope: Scope::Provider, ..failure }
    }

    /// The response broke off.
    fn interrupted(&self, error: &reqwest::Error) -> Failure {
        let words = error.to_string();
        let of = Lost { connecting: false, timed_out: false, answered: true, words: &words };
        let message = format!("the connection to {} broke: {}", shown(&self.base), cause(error));
        Failure { message, ..lost(&of) }
    }

    fn struck(&self, mut broken: Broken) -> Broken {
        // A shorter secret is no key, and striking it would garble the words around it.
        let message = &mut broken.failure.message;
        for secret in self.secrets.iter().filter(|secret| secret.reveal().len() >= SHORTEST) {
            *message = message.replace(secret.reveal(), "…");
            *message = strike_halves(message, secret.reveal());
        }
        *message = brief(message);
        broken
    }
}

impl Provider for HttpProvider {
    fn exchange<'a>(
        &'a self,
        exchange: &'a Exchange,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        Box::pin(
            async move { self.settle(exchange, sink).await.map_err(|broken| self.struck(broken)) },
        )
    }

    fn lessons(&self) -> Option<&Lessons> {
        Some(&self.lessons)
    }
}

/// Strikes the beginning of a secret out where a message was cut within it.
fn strike_halves(message: &str, secret: &str) -> String {
    let mut parts: Vec<&str> = message.split('…').collect();
    let cut = parts.len() - 1;
    for part in &mut parts[..cut] {
        let half = (SHORTEST..secret.len()).rev().find(|length| {
            secret.get(..*length).is_some_and(|beginning| part.ends_with(beginning))
        });
        *part = &part[..part.len() - half.unwrap_or(0)];
    }
    parts.join("…")
}

/// Whether a connection that stood was closed before any answer, which is no one's fault.
fn is_stale(error: &reqwest::Error) -> bool {
    !error.is_builder() && lost_without_answer(error).class == FailureClass::StreamInterrupted
}

fn lost_without_answer(error: &reqwest::Error) -> Failure {
    let (connecting, timed_out) = (error.is_connect(), error.is_timeout());
    lost(&Lost { connecting, timed_out, answered: false, words: &cause(error) })
}

async fn elapsed(patience: Option<&mut Pin<Box<Sleep>>>) {
    match patience {
        Some(sleep) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

fn head(response: &Response) -> Head {
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    Head { status: response.status().as_u16(), headers }
}

/// The innermost reason of an error, without the URL that outer ones carry.
fn cause(error: &reqwest::Error) -> String {
    let mut inner: Option<&dyn Error> = error.source();
    let mut words = None;
    for _ in 0..16 {
        let Some(error) = inner else { break };
        words = Some(brief(&error.to_string()));
        inner = error.source();
    }
    words.unwrap_or_else(|| "the connection failed".to_owned())
}
