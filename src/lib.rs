//! `punctual` exposes LLM workflows, written as YAML files, as MCP tools that answer before a deadline.
#![forbid(unsafe_code)]

pub mod cli;
pub mod definition;
pub mod domain;
pub mod driver;
pub mod engine;
pub mod expression;
pub mod latency;
pub mod planner;
pub mod policy;
pub mod provider;
pub mod resume;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod server;
pub mod store;
pub mod template;
pub mod trace;
pub mod workflow;
pub mod world;
