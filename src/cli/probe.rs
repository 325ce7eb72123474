//! Looks whether something answers: local model servers on their usual ports, providers' hosts.
//!
//! No key is sent and nothing is spent.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::definition::environment::FoundLocal;

/// Local servers answer at once or are not there.
const LOCAL: Duration = Duration::from_millis(300);
/// Most bytes of a list of models.
const LIST_MAX: u64 = 1 << 20;
/// Preset and port of the local servers that are looked for.
const PORTS: [(&str, u16); 2] = [("ollama", 11_434), ("llama_cpp", 8_080)];

/// The local model servers that answer with at least one model.
pub async fn local_servers() -> Vec<FoundLocal> {
    let [(first, one), (second, two)] = PORTS;
    let (one, two) = tokio::join!(local(first, one), local(second, two));
    [one, two].into_iter().flatten().collect()
}

async fn local(kind: &str, port: u16) -> Option<FoundLocal> {
    let models = timeout(LOCAL, models("127.0.0.1", port)).await.ok()??;
    let base_url = format!("http://127.0.0.1:{port}/v1");
    (!models.is_empty()).then(|| FoundLocal { kind: kind.to_owned(), base_url, models })
}

/// `GET /v1/models` in HTTP/1.0, whose answers are never chunked and end with the connection.
async fn models(host: &str, port: u16) -> Option<Vec<String>> {
    let mut stream = TcpStream::connect((host, port)).await.ok()?;
    let request = format!("GET /v1/models HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut reply = Vec::new();
    stream.take(LIST_MAX).read_to_end(&mut reply).await.ok()?;
    listed(&String::from_utf8_lossy(&reply))
}

/// The models' ids in a reply.
fn listed(reply: &str) -> Option<Vec<String>> {
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let mut status = head.split_whitespace().skip(1);
    if status.next() != Some("200") {
        return None;
    }
    let list: Value = serde_json::from_str(body).ok()?;
    let ids = list.get("data")?.as_array()?.iter().filter_map(|model| model.get("id")?.as_str());
    Some(ids.map(str::to_owned).collect())
}

/// Connects to the host of `base_url` within `bound`.
///
/// # Errors
/// Why it cannot be reached, in words.
pub async fn reach(base_url: &str, bound: Duration) -> Result<String, String> {
    let (host, port) = host_of(base_url).ok_or_else(|| format!("{base_url} names no host"))?;
    match timeout(bound, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(format!("{host}:{port}")),
        Ok(Err(error)) => {
            let text = error.to_string();
            let reason = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
            Err(format!("{host}:{port}: {reason}"))
        }
        Err(_) => Err(format!("{host}:{port}: no answer within {} s", bound.as_secs())),
    }
}

fn host_of(base_url: &str) -> Option<(&str, u16)> {
    let (scheme, rest) = base_url.split_once("://")?;
    let usual = if scheme == "http" { 80 } else { 443 };
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        let port = port.strip_prefix(':').map_or(Some(usual), |port| port.parse().ok())?;
        return Some((host, port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, usual),
    };
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_from_a_base_url() {
        assert_eq!(host_of("https://api.openai.com/v1"), Some(("api.openai.com", 443)));
        assert_eq!(host_of("http://127.0.0.1:8080/v1"), Some(("127.0.0.1", 8080)));
        assert_eq!(host_of("http://[::1]:9/v1"), Some(("::1", 9)));
        assert_eq!(host_of("nonsense"), None);
        assert_eq!(host_of("https:///v1"), None);
    }

    #[test]
    fn models_are_read_from_an_answer_and_nothing_else() {
        let ok = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\"data\": [{\"id\": \"m\"}, {\"x\": 1}]}";
        assert_eq!(listed(ok), Some(vec!["m".to_owned()]));
        assert_eq!(listed("HTTP/1.1 404 Not Found\r\n\r\n{\"data\": []}"), None);
        assert_eq!(listed("SSH-2.0-OpenSSH\r\n"), None);
    }
}
