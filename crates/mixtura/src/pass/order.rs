//! Merges the results of chunks in an order that does not depend on who computed them.

/// Maps every chunk and merges the results in chunk order, as a fixed binary tree.
///
/// The left subtree holds the largest power of two of chunks, so a stream that merges equal-sized
/// neighbours as they come gives the same bits. At most log₂ n results wait at a time per thread.
pub(crate) fn merge_in_order<T: Send>(
    n_chunks: usize,
    map: &(impl Fn(usize) -> T + Sync),
    merge: &(impl Fn(&mut T, T) + Sync),
) -> T {
    subtree(0, n_chunks, map, merge)
}

fn subtree<T: Send>(
    first: usize,
    n: usize,
    map: &(impl Fn(usize) -> T + Sync),
    merge: &(impl Fn(&mut T, T) + Sync),
) -> T {
    if n <= 1 {
        return map(first);
    }
    let left = n.next_power_of_two() / 2;
    let (mut result, right) =
        rayon::join(|| subtree(first, left, map, merge), || subtree(first + left, n - left, map, merge));
    merge(&mut result, right);
    result
}

/// Merges results that may have failed: the first failure in chunk order is that of the whole.
pub(crate) fn all_or_none<T, E>(merge: impl Fn(&mut T, T) + Sync) -> impl Fn(&mut Result<T, E>, Result<T, E>) + Sync {
    move |left, right| match (left.as_mut(), right) {
        (Ok(left), Ok(right)) => merge(left, right),
        (Ok(_), Err(error)) => *left = Err(error),
        (Err(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_depends_on_the_number_of_chunks_alone() {
        let shape = |n: usize| merge_in_order(n, &|i| i.to_string(), &|a: &mut String, b| *a = format!("({a} {b})"));
        assert_eq!(shape(1), "0");
        assert_eq!(shape(5), "(((0 1) (2 3)) 4)");
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| shape(11)), shape(11));
        }
    }
}
