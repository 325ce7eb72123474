//! YAML → `Workflow`. The surface that `server`, `driver` and `cli` use; see `Catalog`.

pub mod builtin;
pub mod catalog;
pub mod config;
pub mod diagnostic;
pub mod environment;
pub mod shelf;
pub mod source;
pub mod folder;
pub mod keys;
pub mod lower;
pub mod page;
pub mod raw;
pub mod watch;
pub mod yaml;
