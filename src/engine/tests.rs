//! The machine's scenarios: what is asked of it, event by event, without tokio.

mod budget;
mod closed;
mod computed;
mod cut;
mod deadline;
mod draft;
mod fan_out;
mod hedge;
mod hung;
mod lifecycle;
mod measured;
mod observe;
mod optional;
mod permit;
mod race;
mod reaction;
mod scenario;
mod shed;
mod validator;
mod window;
mod words;
