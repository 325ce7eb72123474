//! Providers that refused their key or their account when they were last asked, as the kept runs tell.
//!
//! A server keeps such a provider out until its settings or its key change; another process sees that from the runs alone.

use std::collections::BTreeMap;

use crate::domain::failure::FailureClass;
use crate::trace::report::RunReport;

/// Runs that are looked at, the latest.
pub const LOOKED_AT: usize = 200;

/// What was seen of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Its name.
    pub provider: String,
    /// `auth` or `quota_exhausted`.
    pub class: FailureClass,
    /// What it said.
    pub said: String,
    /// When the run that saw it was started.
    pub when: String,
}

/// Every provider whose last word was no. `reports` from old to new.
#[must_use]
pub fn outages(reports: &[RunReport]) -> Vec<Outage> {
    let mut found: BTreeMap<String, Outage> = BTreeMap::new();
    for report in reports {
        for attempt in report.steps.iter().flat_map(|step| &step.attempts) {
            let provider = attempt.path.split('/').next().unwrap_or_default().to_owned();
            if attempt.end == "accepted" {
                found.remove(&provider);
            }
            let Some(failure) = &attempt.failure else { continue };
            let class = FailureClass::parse(&failure.class);
            let Some(class @ (FailureClass::Auth | FailureClass::QuotaExhausted)) = class else {
                continue;
            };
            // One that was turned away repeats what is known.
            if failure.message.starts_with("not sent: ") && found.contains_key(&provider) {
                continue;
            }
            let (said, when) = (failure.message.clone(), report.started_at.clone());
            found.insert(provider.clone(), Outage { provider, class, said, when });
        }
    }
    found.into_values().collect()
}

impl Outage {
    /// What was seen, on one line.
    #[must_use]
    pub fn what(&self) -> String {
        let Self { provider, class, said, when } = self;
        format!("{provider}: {class} when it was last asked ({when}): {said}")
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        if self.class == FailureClass::Auth {
            "give it another key. A server that runs sends nothing there until the key or the provider's settings in \
             punctual.yaml change, and then by itself; one that is started anew asks once"
        } else {
            "fill the account up, or give it another key. A server that runs sends nothing there until the key or the \
             provider's settings in punctual.yaml change, or it is started anew"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::report::{AttemptReport, FailureReport, StepReport};

    fn run(when: &str, attempts: &[(&str, &str, &str)]) -> RunReport {
        let attempt = |(path, class, message): &(&str, &str, &str)| AttemptReport {
            path: (*path).to_owned(),
            end: if class.is_empty() { "accepted" } else { "failed" }.to_owned(),
            failure: (!class.is_empty()).then(|| FailureReport {
                class: (*class).to_owned(),
                message: (*message).to_owned(),
                ..FailureReport::default()
            }),
            ..AttemptReport::default()
        };
        let attempts = attempts.iter().map(attempt).collect();
        let steps = vec![StepReport { attempts, ..StepReport::default() }];
        RunReport { started_at: when.to_owned(), steps, ..RunReport::default() }
    }

    #[test]
    fn the_last_word_of_each_provider_counts() {
        let reports = [
            run("1", &[("a/x", "auth", "HTTP 401: no"), ("b/y", "quota_exhausted", "empty")]),
            run(
                "2",
                &[("a/x", "auth", "not sent: provider 'a' is out"), ("c/z", "rate_limited", "")],
            ),
            run("3", &[("b/y", "", "")]),
        ];
        let found = outages(&reports);
        assert_eq!(found.len(), 1);
        insta::assert_snapshot!(found[0].what(), @"a: auth when it was last asked (1): HTTP 401: no");
        assert!(found[0].advice().starts_with("give it another key"));
        assert!(
            outages(&reports[1..]).iter().any(|o| o.when == "2"),
            "it is all there is to go by"
        );
    }
}
