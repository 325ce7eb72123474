//! The vocabulary every other room speaks: ids, time, money, shapes, plans, messages, failures, outcomes.
//!
//! Plain values only. Nothing here reads a clock, takes a lock, does I/O or knows a provider's wire format;
//! whatever needs that lives on a higher floor and is handed these types.

pub mod failure;
pub mod finding;
pub mod id;
mod link;
pub mod message;
pub mod model;
pub mod money;
pub mod outcome;
pub mod plan;
pub mod provider;
pub mod shape;
pub mod time;
