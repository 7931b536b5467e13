//! Tuning.
use std::time::Instant;
use mixtura::driver::Quiet;
use mixtura::generate::{Artificial, Balance};
use mixtura::rows::RowsBuilder;
use mixtura::{Algorithm, FullGaussian, Options, Source, Start, fit, Rows};

fn main() -> Result<(), mixtura::Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    let (d, k, sep, n, unbalanced, seeds) = (number(0) as usize, number(1) as usize, number(2), number(3) as usize, number(4) > 0.0, number(5) as u64);
    let (rows, truth): (Rows<'static>, _);
    if let Some(file) = words.get(6) {
        let bytes = std::fs::read(file).unwrap();
        let values: Vec<f64> = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
        rows = Rows::from_vec(values, d)?;
        truth = None;
    } else {
        let balance = if unbalanced { Balance::Unbalanced } else { Balance::Balanced };
        let model = Artificial { n_columns: d, n_components: k, separation: sep, balance, ..Artificial::default() }.mixture(std::env::var("TRUTH").ok().and_then(|t| t.parse().ok()).unwrap_or(17))?;
        let mut builder = RowsBuilder::<f64>::new(d)?;
        for first in (0..n).step_by(1 << 16) {
            let (values, _) = model.sample(first..(first + (1 << 16)).min(n), 1)?;
            values.chunks_exact(d).try_for_each(|row| builder.push_row(row))?;
        }
        rows = builder.finish()?;
        truth = Some(model);
    }
    let source = Source::of(&rows)?;
    let single = Options::default().algorithm(Algorithm::Em).restarts(1).rounds(3000);
    let race = Options::default().rounds(3000);
    let mut best = f64::NEG_INFINITY;
    if let Some(model) = truth {
        best = fit::<FullGaussian, _>(&source, k, &Start::Model(model), &single, &Quiet)?.mean_ln_likelihood;
    }
    let from_truth = best;
    let mut all = [Vec::new(), Vec::new()];
    for (way, options) in [single, race].iter().enumerate() {
        if way == 0 && std::env::var("NOSINGLE").is_ok() { continue; }
        for seed in 0..seeds {
            let began = Instant::now();
            let fit = fit::<FullGaussian, _>(&source, k, &Start::KmeansPlusPlus, &options.clone().seed(seed), &Quiet)?;
            let seconds = began.elapsed().as_secs_f64();
            best = best.max(fit.mean_ln_likelihood);
            if way == 1 && std::env::var("SHOW").is_ok() {
                for level in &fit.race.as_ref().unwrap().levels { eprintln!("{} {:?}", level.n_rows, level.entries.iter().map(|e| (e.start, e.rounds, (e.mean_ln_likelihood*1e4).round()/1e4, e.place)).collect::<Vec<_>>()); }
                eprintln!("seed {seed}: {} rounds {} restarts {:?} agreed {:?} {:?}", fit.mean_ln_likelihood, fit.rounds, fit.restarts, fit.race.as_ref().unwrap().n_agreed, fit.race.as_ref().unwrap().runner_up);
            }
            all[way].push((fit.mean_ln_likelihood, seconds, fit.rounds));
        }
    }
    let median = |mut values: Vec<f64>| { values.sort_by(f64::total_cmp); values.get(values.len() / 2).copied().unwrap_or(f64::NAN) };
    print!("D{d} K{k} c{sep} N{n} u{} best {best:.5} truth {:+.5}", u8::from(unbalanced), from_truth - best);
    for (name, runs) in ["one", "race"].iter().zip(&all) {
        let reached = runs.iter().filter(|run| run.0 > best - 1e-3).count();
        let worst = runs.iter().map(|run| best - run.0).fold(0.0, f64::max);
        print!(" | {name}: reached {reached}/{} gap median {:.4} worst {worst:.4} s {:.3} rounds {}", runs.len(), median(runs.iter().map(|run| best - run.0).collect()), median(runs.iter().map(|run| run.1).collect()), median(runs.iter().map(|run| run.2 as f64).collect()));
    }
    println!(" | time {:.2}", median(all[1].iter().map(|run| run.1).collect()) / median(all[0].iter().map(|run| run.1).collect()));
    Ok(())
}
