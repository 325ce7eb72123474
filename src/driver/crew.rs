//! Independent pieces of work on all cores.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Does the pieces 0 to `pieces`, each once, on as many threads as there are cores, and returns what came of them in
/// their order. `done` is told on the caller's thread how many are done, each time one is.
pub fn work<T: Send>(
    pieces: usize,
    piece: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize),
) -> Vec<T> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<T>> = (0..pieces).map(|_| None).collect();
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel(cores);
        for _ in 0..cores.min(pieces) {
            let (send, next, piece) = (send.clone(), &next, &piece);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= pieces || send.send((at, piece(at))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        for (count, (at, result)) in receive.into_iter().enumerate() {
            results[at] = Some(result);
            done(count + 1);
        }
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_and_comes_back_in_its_place() {
        let mut told = Vec::new();
        let squares = work(100, |at| at * at, |count| told.push(count));
        assert_eq!(squares, (0..100).map(|at| at * at).collect::<Vec<_>>());
        assert_eq!(told, (1..=100).collect::<Vec<_>>());
        assert!(work(0, |at| at, |_| {}).is_empty());
    }
}
