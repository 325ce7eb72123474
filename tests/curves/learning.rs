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
}

#[test]
fn laws() {
    for name in ["pooled"] {
        let mut server = Server::new(7);
        server.serve(regime(name), 2_000);
        let estimate = server.book.estimate(&plan(), server.now());
        show(name, &estimate.laws, regime(name));
        println!("{:?}", estimate.shocks);
    }
    for name in ["pooled", "brownout"] {
        let mut server = Server::new(3);
        let (mut sum, mut square) = ([0.0_f64; 13], [0.0_f64; 13]);
        server.serve(regime(name), 500);
        for _ in 0..200 {
            server.serve(regime(name), 7);
            let e = server.book.estimate(&plan(), server.now());
            let (a, p) = (&e.laws.paths[0], &e.laws.providers[0]);
            let all = [a.first_token.at(0.5), a.per_token.at(0.5) * 1e3, a.error, a.hangs, a.stalls, p.spell, p.slow[0], p.slow[1], p.late[0], p.late[1], p.burst, e.laws.providers[1].spell, e.shock()];
            for (at, x) in all.into_iter().enumerate() { sum[at] += x / 200.0; square[at] += x * x / 200.0; }
        }
        println!("{name} steady {:?}", (0..13).map(|at| format!("{:.3}±{:.3}", sum[at], (square[at] - sum[at].powi(2)).max(0.0).sqrt())).collect::<Vec<_>>());
    }
    for name in ["brownout", "down"] {
    let mut servers: Vec<Server> = (0..10).map(|seed| { let mut server = Server::new(seed + 20); server.serve(regime("pooled"), 400); server }).collect();
    for step in 0..9 {
        let (mut sum, n) = ([0.0; 14], servers.len() as f64);
        for server in &mut servers {
            let e = server.book.estimate(&plan(), server.now());
            let (a, p) = (&e.laws.paths[0], &e.laws.providers[0]);
            let all = [a.first_token.at(0.5), a.per_token.at(0.5) * 1e3, a.error, a.hangs, a.stalls, p.spell, p.slow[0], p.slow[1], p.late[0], p.late[1], p.burst, e.laws.providers[1].spell, e.laws.providers[1].burst, e.shock()];
            if step == 4 { print!("[{:.2} {:.2} {:.2}] ", all[0], all[5], all[10]); }
            for (s, x) in sum.iter_mut().zip(all) { *s += x / n; }
            if step < 5 { server.serve(regime(name), 5) } else { server.serve(regime("pooled"), 5) }
        }
        println!("{name} {:2}: ttft {:.2} tpot {:.1} err {:.3} hang {:.3} stall {:.3} spell {:.2} slow {:.2}/{:.2} late {:.2}/{:.2} burst {:.3} | B {:.3} {:.3} shock {:.2}", step * 5, sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7], sum[8], sum[9], sum[10], sum[11], sum[12], sum[13]);
    }
    }
}
