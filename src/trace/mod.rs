//! The wire form of what happened: the run report that `run --json`, `trace --json` and the store share.

pub mod report;
