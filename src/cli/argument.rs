//! The input of a run, put together from `--input` and `--set`.

use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};

/// Most bytes of an input, all parts together.
const INPUT_MAX: u64 = 64 << 20;

/// Puts the input together: `--input` first, then each `--set` over it.
///
/// # Errors
/// What cannot be read or is not what it should be, in words.
pub fn input(whole: Option<&str>, parts: &[String]) -> Result<Value, String> {
    let mut input = match whole {
        None => Map::new(),
        Some(text) => {
            let (from, text) = match text {
                "-" => ("standard input".to_owned(), standard_input()?),
                _ => match text.strip_prefix('@') {
                    Some(path) => (path.to_owned(), file(path)?),
                    None => ("--input".to_owned(), text.to_owned()),
                },
            };
            match serde_json::from_str(&text) {
                Ok(Value::Object(map)) => map,
                Ok(_) => {
                    return Err(format!("{from} is JSON, but no object: give {{\"field\": …}}"));
                }
                Err(error) => return Err(not_json(&from, &text, &error)),
            }
        }
    };
    for part in parts {
        let (name, value) = field(part)?;
        input.insert(name, value);
    }
    Ok(Value::Object(input))
}

/// `k=text`, `k=@file`, `k:=JSON`.
fn field(part: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = part.split_once('=') else {
        return Err(format!("--set {part}: write name=text, name=@file or name:=JSON"));
    };
    let (name, json) = name.strip_suffix(':').map_or((name, false), |name| (name, true));
    if name.is_empty() {
        return Err(format!("--set {part}: there is no name before the '='"));
    }
    let text = match value.strip_prefix('@') {
        Some("-") => standard_input()?,
        Some(path) => file(path)?,
        None => value.to_owned(),
    };
    let value = if json {
        let from = format!("--set {name}");
        serde_json::from_str(&text).map_err(|error| not_json(&from, &text, &error))?
    } else {
        Value::String(text)
    };
    Ok((name.to_owned(), value))
}

/// What to write instead of `part`, where it gave text to a field that the `violations` want to be something else.
pub fn as_json(part: &str, violations: &str) -> Option<String> {
    let (name, value) = part.split_once('=')?;
    let refused = format!("/{name}: ");
    let other = serde_json::from_str::<Value>(value).is_ok_and(|value| !value.is_string());
    let wrong = violations.lines().any(|line| line.trim_start().starts_with(&refused));
    (other && wrong && !name.ends_with(':')).then(|| {
        format!("--set {part} gives text; for what it says as JSON write --set '{name}:={value}'")
    })
}

fn not_json(from: &str, text: &str, error: &serde_json::Error) -> String {
    let hint = if from == "--input" && !text.trim_start().starts_with('{') {
        "; for a file write --input @FILE, for one text field --set name=text"
    } else {
        ""
    };
    format!("{from} is not JSON: {error}{hint}")
}

fn file(path: &str) -> Result<String, String> {
    let about = std::fs::metadata(Path::new(path)).map_err(|error| unreadable(path, &error))?;
    if about.is_dir() {
        return Err(format!("cannot read {path}: it is a folder"));
    }
    let file = std::fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    read(file, path)
}

fn standard_input() -> Result<String, String> {
    read(std::io::stdin().lock(), "standard input")
}

fn read(from: impl Read, name: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(INPUT_MAX + 1).read_to_end(&mut bytes).map_err(|e| unreadable(name, &e))?;
    if bytes.len() as u64 > INPUT_MAX {
        return Err(format!("{name} is larger than 64 MiB"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("{name} is not UTF-8 (at byte {at}): convert it first")
    })
}

/// What the file system says, without its numbers.
pub fn unreadable(name: &str, error: &std::io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
    format!("cannot read {name}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(parts: &[&str]) -> Result<Value, String> {
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        input(Some(r#"{"text": "old", "n": 1}"#), &parts)
    }

    #[test]
    fn parts_are_laid_over_the_whole() {
        assert_eq!(
            set(&["text=a=b", "tags:=[1]"]),
            Ok(json!({"text": "a=b", "n": 1, "tags": [1]}))
        );
        assert_eq!(set(&["text="]).unwrap()["text"], "");
    }

    #[test]
    fn a_file_is_text_and_its_bytes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.txt");
        std::fs::write(&path, " a\n\u{e9}\n").unwrap();
        let part = format!("text=@{}", path.display());
        assert_eq!(set(&[&part]).unwrap()["text"], " a\n\u{e9}\n");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(set(&[&part]).unwrap_err().contains("not UTF-8 (at byte 0)"));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        for (part, said) in [
            ("text", "name=text, name=@file or name:=JSON"),
            ("=x", "no name"),
            ("n:=[", "--set n is not JSON"),
            ("n=@/no/such/file", "cannot read /no/such/file: no such file"),
            ("n=@/", "it is a folder"),
        ] {
            let error = set(&[part]).unwrap_err();
            assert!(error.contains(said), "{part}: {error}");
        }
        assert!(input(Some("report.txt"), &[]).unwrap_err().contains("--input @FILE"));
        assert!(input(Some("[1]"), &[]).unwrap_err().contains("no object"));
    }
}
