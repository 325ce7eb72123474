//! What is known of how long attempts take: observations, and the laws that follow from them.
//!
//! Every attempt ends in one [`Observation`](observation::Observation), of which the driver tells the server's book. From
//! time to time the book is frozen into [`Laws`](law::Laws), which a run keeps from its start to its end, so that its
//! decisions can be repeated.

pub mod law;
pub mod observation;
pub mod stream;
