//! What is known of how long attempts take: observations, and the laws that follow from them.
//!
//! Every attempt ends in one [`Observation`](observation::Observation), of which the driver tells the server's
//! [`Book`](book::Book). From time to time the book is frozen into [`Laws`](law::Laws), which a run keeps from its start to
//! its end, so that its decisions can be repeated.
//!
//! The book counts: durations in histograms that keep apart what was broken off ([`histogram`]), runs by what they met
//! ([`provider`]), answers' sizes ([`step`]), each over the latest minutes and over weeks ([`window`]). [`estimate`] reads
//! laws from it, [`change`] says when the latest minutes are to be believed.

pub mod book;
mod change;
pub mod curve;
mod estimate;
pub mod foretell;
pub mod histogram;
pub mod law;
mod mixture;
mod normal;
pub mod observation;
mod pace;
mod path;
mod provider;
mod seen;
mod serving;
mod shape;
mod spell;
mod step;
pub mod stream;
pub mod window;
