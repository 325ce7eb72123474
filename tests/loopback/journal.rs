//! What several servers saw, in the order in which it came to pass.

use std::sync::{Arc, Mutex};

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It was read whole.
    Arrived,
    /// Its script was played to the end, or its connection was closed by the server.
    Answered,
    /// The peer closed its connection before that.
    PeerClosed,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The server.
    pub server: &'static str,
    /// Which of its requests, from 0.
    pub request: usize,
    /// What.
    pub moment: Moment,
}

/// Cheap to clone: all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<Note>>>);

impl Journal {
    /// Writes a line.
    pub fn note(&self, server: &'static str, request: usize, moment: Moment) {
        self.0.lock().unwrap().push(Note { server, request, moment });
    }

    /// Everything so far.
    pub fn notes(&self) -> Vec<Note> {
        self.0.lock().unwrap().clone()
    }
}
