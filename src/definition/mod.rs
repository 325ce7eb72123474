//! YAML → `Workflow`, `punctual.yaml` → `Configuration`: read, checked and compiled, problems collected with
//! their places, and watched for changes.
//!
//! The way of a file: [`source`] (text and lines) → [`yaml`] (a tree that knows where everything stands) →
//! [`page`] (single values) → [`raw`] (what the file says) → [`lower`] (what it means). [`catalog`] does that for
//! a whole folder and keeps the last good version of what is broken; [`watch`] does it again when something
//! changes. There are two shapes of everything, raw and domain, and never a third.
//!
//! Diagnostic codes: P01 YAML, keys and values; P02 references and P03 shapes and schemas (from the rooms below,
//! shown in the file here); P04 the graph; P05 configuration and models; P06 files and limits; P07 cases; P09 not
//! yet supported.

pub mod builtin;
pub mod case;
pub mod catalog;
pub mod config;
pub mod diagnostic;
pub mod environment;
pub mod folder;
pub mod keys;
pub mod lower;
pub mod page;
pub mod raw;
pub mod shelf;
pub mod source;
pub mod watch;
pub mod yaml;
