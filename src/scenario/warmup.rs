//! What a policy has learned before it is measured: runs one after another, whose attempts are observed to their true
//! ends.

use super::drive::Driver;
use super::file::ScenarioFile;
use super::stage::Contender;

/// Numbers of warm-up runs begin here: no measured run shares their luck.
const FIRST: u64 = 1 << 40;

/// How long is learned before runs are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warmup {
    /// Runs.
    pub runs: u64,
    /// Seconds from the start of one to the start of the next.
    pub arrival_s: f64,
}

impl Warmup {
    /// What a file says.
    #[must_use]
    pub fn of(file: &ScenarioFile) -> Self {
        Self { runs: file.warmup_runs, arrival_s: file.arrival_s }
    }
}

/// Lets a driver's runs learn; what they have learned is what it tells its runs from then on.
pub fn learn(_driver: &mut Driver<'_>, _contender: Contender, _warmup: &Warmup) {
    let _ = FIRST;
}

/// Gives a driver's runs what they would know after very many attempts on every path.
pub fn give(_driver: &mut Driver<'_>, _contender: Contender) {}
