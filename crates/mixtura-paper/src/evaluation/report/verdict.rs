//! Counts the conclusions about the paper's claims in one sentence.

use std::collections::BTreeSet;

use crate::evaluation::{Claim, Scale, Verdict};

/// How many claims were tested, how often, and what came out. A claim about several data sets is tested for each.
pub(super) fn sentence(claims: &[Claim], scale: Scale) -> String {
    let distinct = |is_meant: fn(&Claim) -> bool| {
        let texts: BTreeSet<&str> =
            claims.iter().filter(|claim| is_meant(claim)).map(|claim| claim.claim.as_str()).collect();
        texts.len()
    };
    let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let (all, tested) = (distinct(|_| true), distinct(|claim| claim.verdict != Verdict::Untested));
    let n_untested = count(Verdict::Untested);
    let times = match claims.len() - n_untested {
        1 => "once".into(),
        n => format!("{n} times"),
    };
    let subject = match (tested, all) {
        (tested, all) if tested == all => format!("The paper's {all} claims were tested {times}"),
        (1, all) => format!("One of the paper's {all} claims was tested, {times} in all"),
        (tested, all) => format!("{tested} of the paper's {all} claims were tested, {times} in all"),
    };
    let verb = |n: usize, one: &str, several: &str| format!("{n} {}", if n == 1 { one } else { several });
    let (holds, limited, fails) = (count(Verdict::Holds), count(Verdict::Limited), count(Verdict::Fails));
    let mut outcomes = vec![
        verb(holds, "holds", "hold"),
        verb(limited, "holds with a limit", "hold with a limit"),
        verb(fails, "does not hold here", "do not hold here"),
    ];
    if n_untested > 0 {
        outcomes.push(verb(n_untested, "was not tested", "were not tested"));
    }
    let last = outcomes.pop().unwrap_or_default();
    format!("{subject}: {} and {last}, in a {} run.", outcomes.join(", "), scale.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str, verdict: Verdict) -> Claim {
        let [about, paper, here, because] = [const { String::new() }; 4];
        Claim { claim: text.into(), about, paper, here, verdict, because }
    }

    #[test]
    fn tests_of_claims_were_counted_as_claims() {
        let mut claims = vec![
            claim("a", Verdict::Holds),
            claim("a", Verdict::Limited),
            claim("a", Verdict::Holds),
            claim("b", Verdict::Fails),
        ];
        assert_eq!(
            sentence(&claims, Scale::Full),
            "The paper's 2 claims were tested 4 times: 2 hold, 1 holds with a limit and 1 does not hold here, in a full run."
        );
        claims.extend([claim("b", Verdict::Untested), claim("c", Verdict::Untested)]);
        assert_eq!(
            sentence(&claims, Scale::Quick),
            "2 of the paper's 3 claims were tested, 4 times in all: 2 hold, 1 holds with a limit, 1 does not hold here \
             and 2 were not tested, in a quick run."
        );
    }
}
