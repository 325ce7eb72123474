//! `punctual` exposes LLM workflows, written as YAML files, as MCP tools that answer before a deadline.
#![forbid(unsafe_code)]

pub mod definition;
pub mod domain;
pub mod driver;
pub mod expression;
pub mod provider;
pub mod schema;
pub mod server;
pub mod template;
pub mod trace;
pub mod workflow;
