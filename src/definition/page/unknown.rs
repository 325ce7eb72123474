//! Keys that may not stand where they stand, told apart.

use crate::definition::keys::Place;
use crate::definition::page::{MISPLACED_KEY, Reader, UNKNOWN_KEY};
use crate::definition::yaml::Key;
use crate::domain::finding::did_you_mean;

impl Reader<'_> {
    /// A key of a later version.
    pub(super) fn reserved(&mut self, key: &Key, place: &Place) {
        let what = format!("`{}` in {}", key.name, place.name);
        self.not_yet(&key.span, &what, "remove it; its name is reserved for a later version");
    }

    /// A key that may not stand here: misplaced, of a later version, or misspelt.
    pub(super) fn unknown(&mut self, key: &Key, place: &Place) {
        if self.is_full() {
            return;
        }
        let name = key.name.as_str();
        let elsewhere = place.elsewhere(name);
        let slip = place.keys.iter().any(|key| strsim::levenshtein(key, name) == 1);
        if !elsewhere.is_empty() && !slip {
            let message = format!("'{name}' may not stand in {}", place.name);
            let top = elsewhere.iter().all(|place| place.starts_with("the top"));
            let at = if top { "at" } else { "under" };
            let help = format!("'{name}' belongs {at} {}", elsewhere.join(" or "));
            self.error(MISPLACED_KEY, &key.span, message).help(help);
            return;
        }
        if !slip && place.comes_later(name) {
            self.reserved(key, place);
            return;
        }
        let candidates = place.keys.iter().chain(place.later).copied();
        let help = match did_you_mean(name, candidates) {
            Some(near) if place.later.contains(&near) => {
                format!("'{near}' is not yet supported; ")
            }
            Some(near) => format!("did you mean '{near}'? "),
            None => String::new(),
        };
        let keys = place.keys.join(", ");
        self.error(UNKNOWN_KEY, &key.span, format!("unknown key '{name}' in {}", place.name))
            .help(format!("{help}keys: {keys}"));
    }
}
