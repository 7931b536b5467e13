//! Starts a fit from a given model, and from labels: `cargo run -p mixtura --example given_start`.

use mixtura::generate::Artificial;
use mixtura::{Algorithm, FullGaussian, Gmm, Mixture, Rows, Start};

fn main() -> Result<(), mixtura::Error> {
    let truth = Artificial { n_columns: 2, n_components: 3, separation: 1.5, ..Artificial::default() }.mixture(11)?;
    let (values, labels) = truth.sample(0..3000, 1)?;
    let rows = Rows::from_slice(&values, 2)?;

    // From a model: here rough guesses of the means with wide, round covariances.
    let means: Vec<f64> = (0..3).flat_map(|k| truth.components.mean(k)).map(|mean| mean.round()).collect();
    let guess = Mixture::new(vec![1.0 / 3.0; 3], FullGaussian::new(2, means, [25.0, 0.0, 0.0, 25.0].repeat(3))?)?;
    let fitter = Gmm::new(3).algorithm(Algorithm::Em).tolerance(1e-10);
    let from_model = fitter.clone().start_from(guess.clone()).fit(&rows)?;

    // From labels, such as another program's clusters: component k starts as the rows of label k.
    let labelled = rows.clone().with_labels(labels)?;
    let from_labels = fitter.clone().start(Start::Labels).fit(&labelled)?;

    // From a result: a fit that has converged stays where it is.
    let again = fitter.start_from(from_model.model.clone()).fit(&rows)?;

    println!("guess:       {:.6} nats per row", guess.score(&rows)?.mean_ln_likelihood);
    for (start, fit) in [("a model", &from_model), ("labels", &from_labels), ("a result", &again)] {
        println!("from {start}: {:.6} nats per row, rounds: {}", fit.mean_ln_likelihood, fit.rounds);
    }
    // A given start fixes the order of the components: no relabelling is needed to compare them.
    for k in 0..3 {
        println!(
            "component {k}: true mean {:.2?}, found {:.2?}",
            truth.components.mean(k),
            from_model.model.components.mean(k)
        );
    }
    assert!((from_model.mean_ln_likelihood - from_labels.mean_ln_likelihood).abs() < 1e-6);
    assert!(again.rounds <= 2);
    Ok(())
}
