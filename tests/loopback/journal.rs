//! What several servers saw, in the order in which it came to pass.

use std::sync::Arc;

use tokio::sync::watch;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The server.
    pub server: &'static str,
    /// Which request, in the words of whoever started the server.
    pub about: String,
    /// What.
    pub moment: Moment,
}

/// Cheap to clone: all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<watch::Sender<Vec<Note>>>);

impl Journal {
    /// Writes a line.
    pub fn note(&self, server: &'static str, about: &str, moment: Moment) {
        let about = about.to_owned();
        self.0.send_modify(|notes| notes.push(Note { server, about, moment }));
    }

    /// Waits until `happened`, and returns everything so far.
    pub async fn until(&self, happened: impl Fn(&[Note]) -> bool) -> Vec<Note> {
        let mut notes = self.0.subscribe();
        notes.wait_for(|notes| happened(notes)).await.expect("this is a sender").clone()
    }

    /// Waits until every request that has arrived has ended in one way or the other.
    pub async fn settled(&self) -> Vec<Note> {
        let arrived = |note: &&Note| note.moment == Moment::Arrived;
        self.until(|notes| notes.len() == 2 * notes.iter().filter(arrived).count()).await
    }
}
