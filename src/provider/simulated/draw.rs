//! One attempt's fate, drawn. Every draw is a hash of (seed, run, step, path, attempt, field), so it does not
//! depend on what was drawn before: policies that differ see the same luck, and a run can be repeated from
//! its seed alone. The order of fields and the constants are those of the model that `scenarios.json` is
//! fitted with; 24 of its draws are a test here.

use std::time::Duration;

use super::regime::Regime;

/// Output tokens, at the median, of the model's step classes S, M, L and XL.
pub const CLASS_TOKENS: [f64; 4] = [50.0, 330.0, 660.0, 1150.0];
/// The provider of each path of a regime.
pub const PROVIDER_OF_PATH: [u8; 4] = [0, 1, 2, 1];

/// Stands for the provider where a step's number would.
const PROVIDER_STEP: u64 = 255;
/// Stands for all paths where one's number would.
const ANY_PATH: u64 = 254;

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Well.
    Ok,
    /// With an answer that fits and is wrong.
    Silent,
    /// With an answer that is visibly invalid.
    Garbage,
    /// With a server error.
    Error,
    /// With a 429.
    RateLimited,
    /// Never.
    Hang,
}

/// What an attempt's luck is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Of the simulated world.
    pub seed: u64,
    /// Of the run.
    pub run: u64,
    /// The step's place, with the item's place above bit 16.
    pub step: u64,
    /// The path of the regime: 0 to 3.
    pub path: u8,
    /// The attempt's number within the step.
    pub attempt: u32,
}

/// An attempt's fate, in seconds since it was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fate {
    /// How it ends.
    pub ending: Ending,
    /// When the first token comes; `None` where none does.
    pub first_token_s: Option<f64>,
    /// When it ends; `None` where it does not.
    pub end_s: Option<f64>,
    /// Tokens of the whole answer.
    pub tokens: f64,
    /// Seconds a token, before slowing down.
    pub pace_s: f64,
    /// Share of the answer that comes before it slows down.
    pub onset: f64,
    /// By how much it slows down.
    pub factor: f64,
    /// Seconds after the first token at which tokens stop for ever.
    pub stall_s: Option<f64>,
}

impl Key {
    /// A number between 0 and 1, exclusive, that depends on the key and `field` alone.
    #[must_use]
    pub fn uniform(&self, field: u8) -> f64 {
        uniform(self, self.step, u64::from(self.path), self.attempt, field)
    }

    /// A standard normal draw.
    fn normal(&self, field: u8) -> f64 {
        inverse_normal(self.uniform(field))
    }
}

/// The same for all attempts of a run on the provider of that number.
#[must_use]
pub fn uniform_of_provider(key: &Key, provider: u64, field: u8) -> f64 {
    uniform(key, PROVIDER_STEP, provider, 0, field)
}

/// The same for all attempts of a step, whatever their path.
#[must_use]
pub fn uniform_of_step(key: &Key, field: u8) -> f64 {
    uniform(key, key.step, ANY_PATH, 0, field)
}

fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
fn uniform(key: &Key, step: u64, path: u64, attempt: u32, field: u8) -> f64 {
    let (low, high) = (u64::from(attempt) & 0xFF, u64::from(attempt) >> 8);
    // Attempts beyond the model's 8 bits move into bits that no step's number reaches.
    let step = step | high << 38;
    let place = step << 24 | path << 16 | low << 8 | u64::from(field);
    let hash = mix(mix(mix(key.seed) ^ key.run) ^ place);
    ((hash >> 11) as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
}

/// Acklam's inverse of the normal distribution, relative error 1.15e-9.
#[must_use]
pub fn inverse_normal(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const LOW: f64 = 0.02425;
    // Not `mul_add`: the model rounds after each operation.
    let polynomial = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    if p < LOW {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    } else if p <= 1.0 - LOW {
        let q = p - 0.5;
        let r = q * q;
        polynomial(&A, r) * q / polynomial(&B, r)
    } else {
        let q = (-2.0 * (1.0 - p).ln()).sqrt();
        -polynomial(&C, q) / polynomial(&D, q)
    }
}

/// Draws an attempt whose answer has `median_tokens` at the median, served by `provider` (0 to 2).
#[must_use]
pub fn draw(regime: &Regime, key: &Key, provider: u8, median_tokens: f64) -> Fate {
    let (path, shape) = (&regime.paths[usize::from(key.path & 3)], &regime.shape);
    let serving = regime.provider(provider);
    let of_run = |field| uniform_of_provider(key, u64::from(provider), field);
    let in_spell = of_run(100) < serving.p_spell;
    let in_burst = of_run(101) < serving.p_429_burst;
    let p_slow = if in_spell { serving.p_slow_in_spell } else { serving.p_slow_normal };

    let mut first = path.ttft_med_s * serving.ttft_mult * (shape.sigma_ttft * key.normal(1)).exp();
    if key.uniform(2) < p_slow * shape.p_queue_slow_share {
        first *= shape.queue_factor_med * (shape.queue_factor_sigma * key.normal(3)).exp();
    }
    let of_step = inverse_normal(uniform_of_step(key, 4));
    let size = shape.sigma_size_step * of_step + shape.sigma_size_attempt * key.normal(5);
    let tokens = median_tokens * size.exp();
    let pace_s = path.tpot_med_s * serving.tpot_mult * (shape.sigma_tpot * key.normal(6)).exp();
    let (mut factor, mut onset) = (1.0, 0.0);
    if key.uniform(7) < p_slow {
        let slow = shape.slow_factor_med * (shape.slow_factor_sigma * key.normal(8)).exp();
        factor = slow.max(1.0);
        if key.uniform(9) < shape.p_midstream_onset {
            onset = 0.8 * key.uniform(10);
        }
    }
    let whole = tokens * pace_s * (onset + (1.0 - onset) * factor);
    let fate = Fate {
        ending: Ending::Ok,
        first_token_s: Some(first),
        end_s: Some(first + whole),
        tokens,
        pace_s,
        onset,
        factor,
        stall_s: None,
    };
    let fault = key.uniform(11);
    let far = key.uniform(12);
    if in_burst && key.uniform(13) < shape.p_429_in_burst {
        fate.ended_by(Ending::RateLimited, far)
    } else if fault < serving.p_error {
        fate.ended_by(Ending::Error, far)
    } else if fault < serving.p_error + serving.p_hang {
        fate.ended_by(Ending::Hang, far)
    } else if key.uniform(14) < path.p_garbage {
        fate.ended_by(Ending::Garbage, far)
    } else if key.uniform(15) < path.p_silent {
        fate.ended_by(Ending::Silent, far)
    } else {
        fate
    }
}

impl Fate {
    /// The same attempt with another ending. `share`, 0 to 1, says how far it gets before.
    #[must_use]
    pub fn ended_by(self, ending: Ending, share: f64) -> Self {
        let first = self.first_token_s.unwrap_or_default();
        let whole = self.generation_s();
        let fate = Self { ending, end_s: Some(first + whole), stall_s: None, ..self };
        match ending {
            Ending::Ok | Ending::Silent => fate,
            Ending::Garbage => Self { end_s: Some(first + whole * (0.3 + 0.7 * share)), ..fate },
            Ending::Error => Self { first_token_s: None, end_s: Some(first * share), ..fate },
            Ending::RateLimited => {
                Self { first_token_s: None, end_s: Some(0.3 + 0.4 * share), ..fate }
            }
            Ending::Hang if share < 0.5 => Self { first_token_s: None, end_s: None, ..fate },
            Ending::Hang => {
                Self { end_s: None, stall_s: Some(whole * (2.0 * share - 1.0)), ..fate }
            }
        }
    }

    /// Seconds from the first token to the last of a complete answer.
    #[must_use]
    pub fn generation_s(&self) -> f64 {
        self.tokens * self.pace_s * (self.onset + (1.0 - self.onset) * self.factor)
    }

    /// Tokens that have come `elapsed_s` seconds after the first one.
    #[must_use]
    pub fn emitted(&self, elapsed_s: f64) -> f64 {
        if elapsed_s <= 0.0 {
            return 0.0;
        }
        let elapsed = elapsed_s.min(self.stall_s.unwrap_or(f64::INFINITY));
        let until_onset = self.tokens * self.onset * self.pace_s;
        if elapsed <= until_onset {
            elapsed / self.pace_s
        } else {
            self.tokens * self.onset + (elapsed - until_onset) / (self.pace_s * self.factor)
        }
    }
}

/// Seconds as a duration; what no run waits for is a day.
pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 86_400.0)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::regime::Regime;
    use super::*;

    fn vectors() -> Vec<Value> {
        serde_json::from_str(include_str!("../../../tests/fixtures/draws.json")).unwrap()
    }

    #[test]
    fn the_published_draws_are_reproduced() {
        let rows = vectors();
        assert_eq!(rows.len(), 24);
        let pooled = Regime::named("pooled").unwrap();
        for row in rows {
            let number = |name: &str| row[name].as_f64().unwrap();
            let count = |name: &str| row[name].as_u64().unwrap();
            let key = Key {
                seed: 20_260_629,
                run: count("run"),
                step: count("step"),
                path: u8::try_from(count("path")).unwrap(),
                attempt: u32::try_from(count("att")).unwrap(),
            };
            let class = ["S", "M", "L", "XL"].iter().position(|c| row["cls"] == *c).unwrap();
            let provider = PROVIDER_OF_PATH[usize::from(key.path)];
            let fate = draw(pooled, &key, provider, CLASS_TOKENS[class]);
            let never = 1e9;
            let pairs = [
                ("u1", key.uniform(1)),
                ("ttft", fate.first_token_s.unwrap_or(never)),
                ("end", fate.end_s.unwrap_or(never)),
                ("tokens", fate.tokens),
                ("tpot", fate.pace_s),
                ("onset", fate.onset),
                ("factor", fate.factor),
                ("stall", fate.stall_s.unwrap_or(never)),
            ];
            for (name, ours) in pairs {
                let theirs = number(name);
                let off = (ours - theirs).abs() / theirs.abs().max(1e-300);
                assert!(ours.to_bits() == theirs.to_bits() || off < 1e-9, "{name}: {ours} {row}");
            }
            let ending = match fate.ending {
                Ending::Ok => "ok",
                Ending::Silent => "silent",
                Ending::Garbage => "garbage",
                Ending::Error => "error",
                Ending::RateLimited => "429",
                Ending::Hang => "hang",
            };
            assert_eq!(row["outcome"], ending, "{row}");
        }
    }
}
