//! Checks what the README says that its example prints; that the example compiles is checked as a doctest.

use mixtura::{Algorithm, Gmm, Rows};

#[test]
fn the_example_of_the_readme_prints_what_it_says() {
    let row = |i: i32| {
        let (x, y) = (f64::from(i).sin(), (1.7 * f64::from(i)).sin());
        if i % 3 == 0 { [8.0 + x, 4.0 + 2.0 * y] } else { [x, y] }
    };
    let values: Vec<f64> = (0..1200).flat_map(row).collect();
    let rows = Rows::from_slice(&values, 2).unwrap();
    let fit = Gmm::new(2).algorithm(Algorithm::Sem).restarts(3).fit(&rows).unwrap();
    let mut printed = Vec::new();
    for (k, weight) in fit.model.weights.iter().enumerate() {
        printed.push(format!("weight {weight:.3}, mean {:.2?}", fit.model.components.mean(k)));
    }
    printed.push(format!("{:.3} nats per row, {:?}", fit.mean_ln_likelihood, fit.termination));
    let labels = fit.model.labels(&rows).unwrap();
    printed.push(format!("labels {:?} …", &labels[..6]));
    let printed = printed.join("\n");
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains(&format!("```text\n{printed}\n```")), "{printed}");
    assert!((0..1200).all(|i| (labels[i] == labels[0]) == (i % 3 == 0)));
}
