//! Conservation laws, checked outside the model: a count kept in one way must equal the same count kept in another
//! way, to the nanosecond. All quantities are whole numbers, so there is no tolerance (flow balance, Little's law and
//! the utilisation law are those of operational analysis: Denning and Buzen, ACM Computing Surveys 10, 1978).

use thiserror::Error;

/// Error of a run that broke a law: a defect of the model, whose results cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the simulation contradicts itself: {law} does not hold for {place}: {left} against {right}; its results \
     are withheld (this is a defect of the model, not of its parameters)"
)]
pub struct LawViolation {
    /// Name of the law.
    pub law: &'static str,
    /// Station, memory or queue for which it was checked.
    pub place: String,
    /// One count, as text.
    pub left: String,
    /// The other count of the same thing.
    pub right: String,
}

/// Evidence of the laws that were checked and held: each with the places for which it was checked, in the order of
/// the checks.
///
/// A law gets into the evidence by being checked and in no other way, so that a check that is left out is missing
/// from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
// Lists and not maps: there are a dozen laws, and the order of the checks is the order of the report.
pub struct Laws(Vec<(&'static str, Vec<String>)>);

impl Laws {
    /// Checks that two counts of the same thing are equal, and records that `law` was checked for `place`.
    ///
    /// # Errors
    /// They differ: a defect of the model.
    pub fn equal<T: PartialEq + std::fmt::Display>(
        &mut self,
        law: &'static str,
        place: &str,
        left: T,
        right: T,
    ) -> Result<(), LawViolation> {
        if left != right {
            let (left, right) = (left.to_string(), right.to_string());
            return Err(LawViolation { law, place: place.to_owned(), left, right });
        }
        match self.0.iter_mut().find(|(checked, _)| *checked == law) {
            Some((_, places)) if places.iter().any(|recorded| recorded == place) => {}
            Some((_, places)) => places.push(place.to_owned()),
            None => self.0.push((law, vec![place.to_owned()])),
        }
        Ok(())
    }

    /// The laws that were checked, each with its places.
    pub fn checked(&self) -> &[(&'static str, Vec<String>)] {
        &self.0
    }

    /// Keeps what `other` has checked too: the evidence for several replications together.
    pub fn intersect(&mut self, other: &Laws) {
        for (law, places) in &mut self.0 {
            let others = other.0.iter().find(|(checked, _)| checked == law).map(|(_, places)| places);
            // Only what held in every replication is evidence: a check that one run skipped is not claimed
            // for all.
            places.retain(|place| others.is_some_and(|others| others.contains(place)));
        }
        self.0.retain(|(_, places)| !places.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_checks_that_held_are_recorded() {
        let mut laws = Laws::default();
        laws.equal("flow balance", "queue", 3, 3).unwrap();
        laws.equal("flow balance", "disk", 2, 2).unwrap();
        laws.equal("flow balance", "queue", 4, 4).unwrap();
        let violation = laws.equal("time adds up", "processor", 5, 6).unwrap_err();
        assert_eq!((violation.law, violation.left.as_str()), ("time adds up", "5"));
        assert_eq!(laws.checked(), [("flow balance", vec!["queue".into(), "disk".into()])]);
    }

    #[test]
    fn several_replications_have_checked_what_each_of_them_has() {
        let (mut both, mut other) = (Laws::default(), Laws::default());
        both.equal("flow balance", "queue", 1, 1).unwrap();
        both.equal("flow balance", "disk", 1, 1).unwrap();
        both.equal("time adds up", "processor", 1, 1).unwrap();
        other.equal("flow balance", "disk", 1, 1).unwrap();
        both.intersect(&other);
        assert_eq!(both.checked(), [("flow balance", vec!["disk".into()])]);
    }
}
