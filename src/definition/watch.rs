//! Reloads a folder when it changes and hands out the newest catalog. A change is live within a second.
//!
//! The file system's notifications say when to look; a slow poll looks in any case, for file systems that
//! notify nobody. Neither is trusted to say what changed: the folder is loaded as a whole.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::definition::catalog::{self, Catalog};
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;

#[cfg(test)]
mod tests;

/// Quiet time after a notification before the folder is loaded: editors write in several steps.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// Longest wait for quiet.
const DEBOUNCE_LIMIT: Duration = Duration::from_millis(500);
/// Time between looks without a notification.
const POLL: Duration = Duration::from_secs(2);
/// Most folders that are watched; the poll sees the rest.
const WATCHED_LIMIT: usize = 256;
/// Most entries of a folder that a fingerprint counts.
const ENTRY_LIMIT: usize = 10_000;

/// A folder under watch. Dropping it ends the watching.
#[derive(Debug)]
pub struct Watch {
    receiver: watch::Receiver<Arc<Catalog>>,
    /// Owns the one task; aborted on drop.
    _task: JoinSet<()>,
}

impl Watch {
    /// Loads the folder and watches it. Must be called inside a tokio runtime.
    ///
    /// Blocks for the first load: a server has nothing to say before it.
    #[must_use]
    pub fn start(folder: Folder, environment: Environment) -> Self {
        Self::with_poll(folder, environment, POLL)
    }

    fn with_poll(folder: Folder, environment: Environment, poll: Duration) -> Self {
        let first = Arc::new(catalog::load(&folder, &environment, None));
        let (sender, receiver) = watch::channel(Arc::clone(&first));
        // One waiting signal says all there is to say: look again.
        let (signal, signals) = mpsc::channel(1);
        let notifier = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let only_read = event.as_ref().is_ok_and(|event| event.kind.is_access());
            if !only_read {
                let _ = signal.try_send(());
            }
        });
        let mut looking = Looking {
            folder,
            environment,
            sender,
            signals,
            notifier: notifier.ok(),
            watched: BTreeSet::new(),
            fingerprint: 0,
        };
        looking.follow(&first);
        let mut task = JoinSet::new();
        if looking.folder.path().is_some() || looking.folder.configuration_file().is_some() {
            task.spawn(looking.run(poll));
        }
        Self { receiver, _task: task }
    }

    /// The newest catalog.
    #[must_use]
    pub fn current(&self) -> Arc<Catalog> {
        Arc::clone(&self.receiver.borrow())
    }

    /// Tells when a new catalog is there.
    #[must_use]
    pub fn receiver(&self) -> watch::Receiver<Arc<Catalog>> {
        self.receiver.clone()
    }
}

struct Looking {
    folder: Folder,
    environment: Environment,
    sender: watch::Sender<Arc<Catalog>>,
    signals: mpsc::Receiver<()>,
    /// `None` where the system has no notifications to give.
    notifier: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Of the files of the newest catalog, taken before they were loaded; 0 where that is unknown.
    fingerprint: u64,
}

impl Looking {
    async fn run(mut self, poll: Duration) {
        loop {
            let told = tokio::select! {
                told = self.signals.recv(), if self.notifier.is_some() => told.is_some(),
                () = tokio::time::sleep(poll) => false,
                () = self.sender.closed() => return,
            };
            if told {
                self.quiet().await;
            } else if !self.changed().await {
                continue;
            }
            self.reload().await;
        }
    }

    /// Waits until nothing more is reported.
    async fn quiet(&mut self) {
        let more = async {
            while let Ok(Some(())) = tokio::time::timeout(DEBOUNCE, self.signals.recv()).await {}
        };
        let _ = tokio::time::timeout(DEBOUNCE_LIMIT, more).await;
    }

    async fn changed(&self) -> bool {
        let files = self.sender.borrow().files.clone();
        let now = tokio::task::spawn_blocking(move || fingerprint(&files)).await;
        now.is_ok_and(|now| now != self.fingerprint)
    }

    async fn reload(&mut self) {
        let previous = Arc::clone(&self.sender.borrow());
        let (folder, environment) = (self.folder.clone(), self.environment.clone());
        let loaded = tokio::task::spawn_blocking(move || {
            let before = fingerprint(&previous.files);
            let next = catalog::load(&folder, &environment, Some(&previous));
            // A change while we read is seen by the next look, as the fingerprint is then not of this.
            let steady = fingerprint(&previous.files) == before;
            let fingerprint = if steady { fingerprint(&next.files) } else { 0 };
            (previous, next, fingerprint)
        });
        // Only a panic while loading or the runtime's end gets here; the last catalog goes on.
        let Ok((previous, next, fingerprint)) = loaded.await else { return };
        self.fingerprint = fingerprint;
        self.follow(&next);
        if next.same_as(&previous) {
            // The list of files may differ all the same; whoever listens need not hear of it.
            self.sender.send_if_modified(|current| {
                *current = Arc::new(Catalog { generation: current.generation, ..next });
                false
            });
        } else {
            self.sender.send_replace(Arc::new(next));
        }
    }

    /// Watches the folders of all files, and only those.
    fn follow(&mut self, catalog: &Catalog) {
        let wanted = folders(&catalog.files);
        let Some(notifier) = &mut self.notifier else { return };
        for gone in self.watched.difference(&wanted) {
            let _ = notifier.unwatch(gone);
        }
        // A folder that was replaced has the same name and another identity: it is watched anew.
        self.watched = wanted
            .into_iter()
            .filter(|folder| {
                let _ = notifier.unwatch(folder);
                notifier.watch(folder, RecursiveMode::NonRecursive).is_ok()
            })
            .collect();
    }
}

/// The folders to watch for these files: their own, where links lead, and the nearest one that is there.
fn folders(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    for file in files {
        if folders.len() >= WATCHED_LIMIT {
            break;
        }
        if file.is_dir() {
            folders.insert(file.clone());
        }
        let parent = file.ancestors().skip(1).find(|folder| folder.is_dir());
        folders
            .extend(parent.map(|p| if p == Path::new("") { Path::new(".") } else { p }.to_owned()));
        if let Ok(target) = file.canonicalize() {
            folders.extend(target.parent().map(Path::to_owned));
        }
    }
    folders
}

/// What can be seen of files without reading them: lengths, times, names in folders.
fn fingerprint(files: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        let Ok(about) = std::fs::metadata(file) else { continue };
        about.len().hash(&mut hasher);
        about.modified().ok().hash(&mut hasher);
        if about.is_dir()
            && let Ok(entries) = std::fs::read_dir(file)
        {
            let names = entries.flatten().take(ENTRY_LIMIT).map(|entry| entry.file_name());
            names.collect::<BTreeSet<_>>().hash(&mut hasher);
        }
    }
    hasher.finish()
}
