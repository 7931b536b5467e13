//! Fits a Gaussian mixture and asks it about new rows: `cargo run -p mixtura --example quick_start`.

use mixtura::{FullGaussian, Gmm, Mixture, Rows};

fn main() -> Result<(), mixtura::Error> {
    // Two clouds of points in the plane, 700 and 300 rows on average.
    let truth = Mixture::new(
        vec![0.7, 0.3],
        FullGaussian::new(2, vec![0.0, 0.0, 4.0, 3.0], vec![1.0, 0.6, 0.6, 1.0, 0.5, 0.0, 0.0, 0.5])?,
    )?;
    let (values, _) = truth.sample(0..1000, 1)?;
    let rows = Rows::from_slice(&values, 2)?;

    let fit = Gmm::new(2).restarts(3).fit(&rows)?;
    let model = fit.model.sorted_by_weight();
    println!("{} rounds, {:.4} nats per row", fit.rounds, fit.mean_ln_likelihood);
    for k in 0..model.n_components() {
        println!(
            "component {k}: weight {:.3}, mean {:.3?}, covariance {:.3?}",
            model.weights[k],
            model.components.mean(k),
            model.components.covariance(k)
        );
    }

    let new = Rows::from_slice(&[0.5, 0.5, 4.0, 3.5, 2.5, 2.0], 2)?;
    for (row, found) in model.classify(&new)?.iter().enumerate() {
        println!("row {:?}: component {}, probability {:.4}", new.row(row), found.label, found.probability);
    }

    assert!(fit.termination.has_converged());
    // Five standard errors of a share of 0.7 in 1000 rows.
    assert!((model.weights[0] - 0.7).abs() < 5.0 * (0.7f64 * 0.3 / 1000.0).sqrt());
    assert_eq!(model.labels(&new)?[..2], [0, 1]);
    Ok(())
}
