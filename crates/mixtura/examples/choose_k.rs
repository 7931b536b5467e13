//! Chooses the number of components by BIC: `cargo run -p mixtura --example choose_k`.

use mixtura::generate::Artificial;
use mixtura::{Gmm, Rows};

fn main() -> Result<(), mixtura::Error> {
    let truth = Artificial { n_columns: 2, n_components: 4, separation: 3.0, ..Artificial::default() }.mixture(3)?;
    let (values, _) = truth.sample(0..2000, 1)?;
    let rows = Rows::from_slice(&values, 2)?;

    let mut best: Option<(f64, usize)> = None;
    println!("K  free parameters  log-likelihood        BIC");
    for k in 1..=7 {
        // Several starts: a poor local maximum would speak against a number of components that is right.
        let model = Gmm::new(k).restarts(5).fit(&rows)?.model;
        let score = model.score(&rows)?;
        println!("{k}  {:15}  {:14.1}  {:9.1}", model.n_free_parameters(), score.ln_likelihood, score.bic);
        if best.is_none_or(|(bic, _)| score.bic < bic) {
            best = Some((score.bic, k));
        }
    }
    let (bic, k) = best.expect("invariant: seven models were tried");
    println!("BIC is lowest, {bic:.1}, with {k} components");
    assert_eq!(k, truth.n_components());
    Ok(())
}
