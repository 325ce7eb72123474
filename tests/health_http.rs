//! What a served process makes of a provider's refusals: the binary as a client starts it, against real HTTP on this
//! machine.
#![allow(clippy::unwrap_used, reason = "a broken fixture fails its test")]

mod loopback;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use punctual::server::client::{Answer, Client};
use serde_json::{Map, json};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use loopback::{Loopback, Script, plain, stream, with_headers};

const ASK: &str = "description: Asks.\ndeadline: 20s\ninput: {n: integer}\nsteps:\n  ask:\n    \
                   max_tokens: 50\n    prompt: 'Say {{ input.n }}'\n";

fn answer() -> Script {
    stream(&[
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":null}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    ])
}

struct Served {
    client: Client,
    folder: tempfile::TempDir,
    _process: Child,
}

impl Served {
    /// A server of one workflow on that provider, whose key stands in a file.
    async fn start(provider: &Loopback) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::create_dir(folder.path().join("workflows")).unwrap();
        write("workflows/ask.yaml", ASK);
        write("key", "sk-one");
        let key = folder.path().join("key").display().to_string();
        write(
            "punctual.yaml",
            &format!(
                "providers:\n  local: {{kind: openai_compatible, base_url: \"{}/v1\", api_key: {{file: \"{key}\"}}}}\n\
                 models:\n  main: {{paths: [{{provider: local, model: m, context: 9000}}]}}\n\
                 defaults: {{model: main}}\n",
                provider.url()
            ),
        );
        let mut process = serve(folder.path());
        let (read, write) = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
        let (client, _) = Client::connect(read, write).await.unwrap();
        Self { client, folder, _process: process }
    }

    async fn ask(&self, n: u32) -> Answer {
        let arguments = Map::from_iter([("n".to_owned(), json!(n))]);
        self.client.call("ask", arguments).await.unwrap()
    }

    /// The providers that are out, as a client is told.
    async fn out(&self) -> Vec<String> {
        let listing = self.client.call("list_workflows", Map::new()).await.unwrap();
        let out = listing.structured.unwrap().get("providers_out").cloned();
        out.map(|out| serde_json::from_value(out).unwrap()).unwrap_or_default()
    }
}

fn punctual(folder: &Path, command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_punctual"));
    program.args([command, "--dir", ".", "--state"]).arg(folder.join("state"));
    program.current_dir(folder);
    program
}

fn serve(folder: &Path) -> Child {
    punctual(folder, "serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_refused_key_is_used_once_and_the_new_one_as_soon_as_it_is_in_its_file() {
    let body = r#"{"error":{"message":"No such key.","code":"invalid_api_key"}}"#;
    let provider =
        Loopback::start([plain("401 Unauthorized", "application/json", body), answer()]).await;
    let served = Served::start(&provider).await;
    assert_eq!(served.out().await, Vec::<String>::new());
    for n in 0..5 {
        let failed = served.ask(n).await;
        assert!(failed.is_error && failed.texts[0].contains("Cause: auth: "), "{:?}", failed.texts);
    }
    assert_eq!(provider.requests().len(), 1, "it is asked once");
    let out = served.out().await;
    let said = "provider 'local' is out (auth): HTTP 401: No such key. (check `api_key`). Nothing is sent there";
    assert!(out.len() == 1 && out[0].starts_with(said), "{out:?}");
    let doctor = punctual(served.folder.path(), "doctor").output().await.unwrap();
    let told = String::from_utf8(doctor.stdout).unwrap();
    assert!(told.contains("local: auth when it was last asked ("), "{told}");
    assert!(told.contains("give it another key. A server that runs"), "{told}");

    std::fs::write(served.folder.path().join("key"), "sk-two").unwrap();
    let back = async { while !served.out().await.is_empty() {} };
    timeout(Duration::from_secs(30), back).await.expect("the new key is seen");
    let answered = served.ask(9).await;
    assert_eq!(answered.structured, Some(json!({"text": "Hello"})), "{:?}", answered.texts);
    let keys: Vec<_> = provider.requests().iter().map(|r| r.header("authorization")).collect();
    assert_eq!(keys, [Some("Bearer sk-one".to_owned()), Some("Bearer sk-two".to_owned())]);
    served.client.close().await;
}

#[tokio::test]
async fn a_window_that_no_run_can_wait_for_is_kept_by_all_of_them() {
    let body = r#"{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}"#;
    let headers = [("content-type", "application/json"), ("retry-after", "90")];
    let provider = Loopback::start([with_headers("429 Too Many Requests", &headers, body)]).await;
    let served = Served::start(&provider).await;
    for n in 0..5 {
        let failed = served.ask(n).await;
        assert!(failed.is_error && failed.texts[0].contains("Cause: rate_limited: "));
        assert!(
            failed.texts[0].contains("Making the same call again in 1 m "),
            "{:?}",
            failed.texts
        );
    }
    assert_eq!(provider.requests().len(), 1);
    assert!(served.out().await.is_empty(), "it comes back by itself");
    served.client.close().await;
}
