//! Finds rows that a mixture makes improbable: `cargo run -p mixtura --example outliers`.

use mixtura::generate::Artificial;
use mixtura::{Gmm, Rows, Tail};

fn main() -> Result<(), mixtura::Error> {
    // A model of rows that are known to be normal. Outliers among them could get a component of their own.
    let truth = Artificial { n_columns: 2, n_components: 3, separation: 2.5, ..Artificial::default() }.mixture(7)?;
    let (history, _) = truth.sample(0..2000, 1)?;
    let model = Gmm::new(3).restarts(3).fit(&Rows::from_slice(&history, 2)?)?.model;

    // New rows, the last three of which are far from everything.
    let (mut values, _) = truth.sample(2000..3000, 1)?;
    values.extend([90.0, -80.0, -75.0, 60.0, 0.0, 120.0]);
    let rows = Rows::from_slice(&values, 2)?;

    // How often does the model itself produce a row of lower density? Less than once in 10,000 is worth a look.
    let tail = Tail::of(&model, 100_000, 2)?;
    let mut outliers = Vec::new();
    for (row, ln_density) in model.ln_densities(&rows)?.into_iter().enumerate() {
        let probability = tail.probability(ln_density);
        if probability < 1e-4 {
            println!("row {row}: {:.1?}, log-density {ln_density:.1}, tail probability {probability}", rows.row(row));
            outliers.push(row);
        }
    }
    println!("{} of {} rows", outliers.len(), rows.n_rows());
    assert!((1000..1003).all(|row| outliers.contains(&row)));
    // Of 1000 normal rows, 0.1 are expected.
    assert!(outliers.len() <= 5, "{outliers:?}");
    Ok(())
}
