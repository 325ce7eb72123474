//! Standard error, which must never hold the program up.
//!
//! A client that starts a server may never read what it logs: once the pipe is full, a plain write blocks its
//! thread for ever, and one blocked thread after the other takes the whole server down. So one thread alone
//! writes, from a bounded queue: logs are dropped where it is full, and nobody waits longer than a bounded
//! time for a reader that reads nothing.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Most waiting lines.
const LINES_MAX: usize = 1024;
/// Most waiting bytes; one line may go beyond where nothing waits.
const BYTES_MAX: usize = 1024 * 1024;
/// Wait for a reader that reads nothing. One that reads at all is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A line of the log: dropped, and counted, where too many wait.
pub fn log(line: &[u8]) {
    stream().push(line);
}

/// Text that a person waits for: returns when it is written, or when nobody reads.
pub fn write(text: &[u8]) {
    let stream = stream();
    stream.push(text);
    stream.flush();
}

/// Waits until all is written, or nobody reads.
pub fn flush() {
    if let Some(stream) = STREAM.get() {
        stream.flush();
    }
}

static STREAM: OnceLock<Arc<Stream>> = OnceLock::new();

fn stream() -> &'static Stream {
    STREAM.get_or_init(|| Stream::start(io::stderr()))
}

/// A queue with the thread that empties it.
struct Stream {
    queue: Mutex<Queue>,
    /// Told of every change.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines that did not fit since the last one that did.
    dropped: u64,
    /// Whether the thread is at a write.
    writing: bool,
    /// Writes that came to their end.
    written: u64,
    /// Whether somebody waited for the reader in vain since the last write that came to its end.
    stuck: bool,
}

impl Stream {
    fn start(mut to: impl Write + Send + 'static) -> Arc<Self> {
        let stream = Arc::new(Self { queue: Mutex::default(), changed: Condvar::new() });
        let own = Arc::clone(&stream);
        let writer = move || {
            loop {
                let next = own.next();
                // Nobody is left to be told of an error here.
                let _ = to.write_all(&next).and_then(|()| to.flush());
                own.wrote();
            }
        };
        // The thread may be blocked for ever and is never joined: the process ends without it.
        let _ = std::thread::Builder::new().name("stderr".to_owned()).spawn(writer);
        stream
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code between a lock and its release can panic half-way through a change.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &[u8]) {
        let mut queue = self.queue();
        let full = queue.waiting.len() >= LINES_MAX || queue.bytes + line.len() > BYTES_MAX;
        if full && !queue.waiting.is_empty() {
            queue.dropped += 1;
            return;
        }
        if queue.dropped > 0 {
            let gap = format!("… {} lines dropped: standard error was not read …\n", queue.dropped);
            queue.dropped = 0;
            queue.add(gap.into_bytes());
        }
        queue.add(line.to_vec());
        drop(queue);
        self.changed.notify_all();
    }

    /// The next line to write; waits for one.
    fn next(&self) -> Vec<u8> {
        let mut queue = self.queue();
        loop {
            if let Some(next) = queue.waiting.pop_front() {
                queue.bytes -= next.len();
                queue.writing = true;
                return next;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wrote(&self) {
        let mut queue = self.queue();
        queue.writing = false;
        queue.stuck = false;
        queue.written += 1;
        drop(queue);
        self.changed.notify_all();
    }

    fn flush(&self) {
        let mut queue = self.queue();
        while !queue.is_idle() && !queue.stuck {
            let before = queue.written;
            let still = |queue: &mut Queue| queue.written == before && !queue.is_idle();
            let waited = self.changed.wait_timeout_while(queue, PATIENCE, still);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = after;
            queue.stuck |= timeout.timed_out();
        }
    }
}

impl Queue {
    fn add(&mut self, line: Vec<u8>) {
        self.bytes += line.len();
        self.waiting.push_back(line);
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.writing
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Takes what it is sent, once it may.
    struct Slow {
        may: mpsc::Receiver<()>,
        took: mpsc::Sender<String>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.may.recv();
            let _ = self.took.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_beyond_the_queue_are_dropped_and_counted_once_somebody_reads_again() {
        let (allow, may) = mpsc::channel();
        let (took, taken) = mpsc::channel();
        let stream = Stream::start(Slow { may, took });
        for _ in 0..3 * LINES_MAX {
            stream.push(b"a line\n");
        }
        let dropped = stream.queue().dropped;
        assert!((2 * LINES_MAX as u64 - 1..=2 * LINES_MAX as u64).contains(&dropped), "{dropped}");
        drop(allow);
        stream.flush();
        stream.push(b"at last\n");
        stream.flush();
        let told: Vec<String> = taken.try_iter().collect();
        let gap = format!("… {dropped} lines dropped: standard error was not read …\n");
        assert_eq!(told[told.len() - 2..], [gap, "at last\n".to_owned()]);
    }

    #[test]
    fn a_reader_that_never_reads_holds_nobody_up_twice() {
        let (_never, may) = mpsc::channel();
        let (took, _taken) = mpsc::channel();
        let stream = Stream::start(Slow { may, took });
        stream.push(b"a line\n");
        stream.flush();
        assert!(stream.queue().stuck);
        stream.push(b"another\n");
        stream.flush();
        assert_eq!(stream.queue().waiting.len(), 1);
    }
}
