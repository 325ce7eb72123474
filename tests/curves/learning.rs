//! Laws learned from a regime's runs.

use punctual::latency::law::Laws;
use punctual::provider::simulated::regime::Regime;

use super::server::{PATHS, Server, plan, regime};

fn show(name: &str, laws: &Laws, regime: &Regime) {
    println!("== {name}: late {:.2} {:.2} slow {:.2} {:.2}", laws.late.at(0.5), laws.late.at(0.84) / laws.late.at(0.5), laws.slow.at(0.5), laws.slow.at(0.84)/laws.slow.at(0.5));
    for (at, path) in laws.paths.iter().enumerate() {
        let truth = &regime.paths[at];
        let p = regime.provider(path.provider as u8);
        println!("{:12} n {:6.0} ttft {:.2} ({:.2}) s {:.3} | tpot {:.4} ({:.4}) s {:.3} | inv {:.3} ({:.3}) err {:.3} ({:.3}) hang {:.4} stall {:.4} ({:.4})",
            PATHS[at], path.samples, path.first_token.at(0.5), truth.ttft_med_s * p.ttft_mult, (path.first_token.at(0.84)/path.first_token.at(0.5)).ln(),
            path.per_token.at(0.5), truth.tpot_med_s * p.tpot_mult, (path.per_token.at(0.84)/path.per_token.at(0.5)).ln(),
            path.invalid, truth.p_garbage, path.error, p.p_error, path.hangs, path.stalls, p.p_hang / 2.0);
    }
    for (at, one) in laws.providers.iter().enumerate() {
        let p = regime.provider(at as u8);
        println!("{at}: spell {:.3} ({:.3}) slow {:.3}/{:.3} ({:.3}/{:.3}) late {:.3}/{:.3} burst {:.3} ({:.3}) ref {:.2} after {:.2}",
            one.spell, p.p_spell, one.slow[0], one.slow[1], p.p_slow_normal, p.p_slow_in_spell, one.late[0], one.late[1], one.burst, p.p_429_burst, one.refused, one.refused_after);
    }
    println!("steps {:?}", laws.steps);
}

#[test]
fn laws() {
    for name in ["pooled", "busy", "brownout", "down", "fastlong"] {
        let mut server = Server::new(7);
        server.serve(regime(name), 2_000);
        let estimate = server.book.estimate(&plan(), server.now());
        show(name, &estimate.laws, regime(name));
        println!("{:?}", estimate.shocks);
    }
    let mut server = Server::new(8);
    server.serve(regime("pooled"), 2_000);
    for step in 0..6 {
        let estimate = server.book.estimate(&plan(), server.now());
        show(&format!("pooled>brownout {}", step*5), &estimate.laws, regime("brownout"));
        println!("{:?}", estimate.shocks);
        server.serve(regime("brownout"), 5);
    }
}
