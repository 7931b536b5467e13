//! Checks that the layout of values in memory does not change a bit of any result.

use mixtura::rows::{RowsBuilder, Scalar};
use mixtura::{Algorithm, DiagonalGaussian, Fitter, FullGaussian, Poisson, Rows};

use crate::artificial;

/// The same matrix column after column.
fn transposed<T: Copy>(values: &[T], n_columns: usize) -> Vec<T> {
    (0..n_columns).flat_map(|column| values.iter().skip(column).step_by(n_columns).copied()).collect()
}

fn assert_same_fits<T: Scalar>(values: &[T], n_columns: usize) {
    let columns = transposed(values, n_columns);
    let mut builder = RowsBuilder::<T>::new(n_columns).unwrap();
    values.chunks_exact(n_columns).for_each(|row| builder.push_row(row).unwrap());
    let layouts = [
        Rows::from_slice(values, n_columns).unwrap(),
        Rows::from_column_major(&columns, n_columns).unwrap(),
        builder.finish().unwrap(),
    ];
    let weights: Vec<f64> = (0..layouts[0].n_rows()).map(|row| 0.5 + (row % 3) as f64).collect();
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Auto] {
        let full = Fitter::<FullGaussian>::new(3).restarts(1).algorithm(algorithm).rounds(12).seed(5);
        let diagonal = Fitter::<DiagonalGaussian>::new(3).restarts(1).algorithm(algorithm).rounds(12).seed(5);
        let [row_major, column_major, blocked] = layouts.each_ref().map(|rows| {
            let weighted = rows.clone().with_weights(&weights).unwrap();
            let normalized = rows.clone().normalized().unwrap();
            let fits = [full.fit(rows), full.fit(&weighted), full.fit(&normalized)].map(|fit| fit.unwrap());
            let classified = fits.each_ref().map(|fit| fit.model.classify(rows).unwrap());
            (fits, classified, diagonal.fit(rows).unwrap())
        });
        assert_eq!(column_major, row_major, "{algorithm:?}");
        assert_eq!(blocked, row_major, "{algorithm:?}");
    }
}

#[test]
fn fits_do_not_depend_on_the_layout() {
    for (n_rows, n_columns) in [(37, 1), (1000, 3), (2049, 5), (4111, 2)] {
        let (rows, _) = artificial(n_rows, n_columns, 3, 61);
        let double: Vec<f64> = (0..n_rows).flat_map(|row| rows.row(row)).collect();
        let single: Vec<f32> = double.iter().map(|&x| x as f32).collect();
        assert_same_fits(&double, n_columns);
        assert_same_fits(&single, n_columns);
    }
}

#[test]
fn counts_do_not_depend_on_the_layout() {
    let counts: Vec<f32> = (0..1500u16).map(|n| f32::from(n * 7 % 13 + 9 * (n / 3 % 2))).collect();
    let columns = transposed(&counts, 3);
    let fitter = Fitter::<Poisson>::new(2).seed(1);
    let expected = fitter.fit(&Rows::from_slice(&counts, 3).unwrap()).unwrap();
    assert_eq!(fitter.fit(&Rows::from_column_major(&columns, 3).unwrap()).unwrap(), expected);
}

#[test]
fn columns_must_be_whole() {
    let refused = Rows::from_column_major(&[1.0, 2.0, 3.0], 2).unwrap_err();
    assert_eq!(refused.to_string(), "3 values do not divide into rows of 2 columns");
    assert_eq!(Rows::from_column_major(&[1.0], 0).unwrap_err(), mixtura::Error::NoColumns);
    assert_eq!(Rows::from_column_major::<f64>(&[], 2).unwrap().n_rows(), 0);
}

#[cfg(feature = "ndarray")]
mod arrays {
    use mixtura::{Error, Gmm, Rows};
    use ndarray::{Array2, ShapeBuilder, s};

    use crate::artificial;

    #[test]
    fn arrays_are_seen_without_copying_in_both_layouts() {
        let (rows, _) = artificial(501, 4, 3, 62);
        let standard = Array2::from_shape_fn((501, 4), |(row, column)| rows.row(row)[column]);
        let fortran = Array2::from_shape_fn((501, 4).f(), |(row, column)| rows.row(row)[column]);
        assert!(!fortran.is_standard_layout());
        let fit = |rows: &Rows<'_>| Gmm::new(3).seed(2).fit(rows).unwrap();
        let expected = fit(&rows);
        for array in [standard.view(), fortran.view()] {
            assert_eq!(fit(&Rows::from_array(array).unwrap()), expected);
        }
        // A range of whole rows of a row-major array, and of whole columns of a column-major one, has no gaps.
        assert_eq!(Rows::from_array(standard.slice(s![17..400, ..])).unwrap().row(3), rows.row(20));
        assert_eq!(Rows::from_array(fortran.slice(s![.., 1..3])).unwrap().row(3), rows.row(3)[1..3]);
        let single = fortran.mapv(|x| x as f32);
        assert_eq!(
            Rows::from_array(single.view()).unwrap().row(7),
            rows.row(7).iter().map(|&x| f64::from(x as f32)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn arrays_with_gaps_are_refused() {
        let array = Array2::<f64>::zeros((6, 4));
        let refused = Rows::from_array(array.slice(s![.., 1..3])).unwrap_err();
        assert_eq!(refused, Error::Strides { between_rows: 4, between_columns: 1 });
        assert_eq!(
            refused.to_string(),
            "an array with strides 4 and 1 is neither in standard nor in Fortran layout; \
             copy it first, for instance with `as_standard_layout`"
        );
        let part = array.slice(s![.., 1..3]);
        assert!(Rows::from_array(part.as_standard_layout().view()).is_ok());
        assert!(matches!(Rows::from_array(array.slice(s![..;-1, ..])), Err(Error::Strides { .. })));
        assert_eq!(Rows::from_array(Array2::<f64>::zeros((3, 0)).view()).unwrap_err(), Error::NoColumns);
    }
}
