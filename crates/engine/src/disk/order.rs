//! Order of the requests that wait for an arm (Denning, AFIPS SJCC 1967: SSTF and SCAN; LOOK turns back at the last
//! request instead of the last cylinder).

use serde::Deserialize;

use std::collections::BTreeMap;

/// Rule by which the next request is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueDiscipline {
    /// The first to come.
    Fcfs,
    /// The nearest cylinder (shortest seek time first); of equally near ones, the first to come.
    Sstf,
    /// On in one direction as long as there are requests, then back.
    Look,
}

/// Requests that wait, each at a place on the axis along which the arm goes.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    discipline: QueueDiscipline,
    /// By place (0 for all under first come, first served) and order of arrival. An ordered map has the nearest
    /// request on either side of the arm in logarithmic time; saturated disks have long queues.
    requests: BTreeMap<(u64, u64), T>,
    arrivals: u64,
    /// Direction of the sweep.
    upwards: bool,
}

impl<T> Waiting<T> {
    pub(crate) fn new(discipline: QueueDiscipline) -> Waiting<T> {
        Waiting { discipline, requests: BTreeMap::new(), arrivals: 0, upwards: true }
    }

    pub(crate) fn push(&mut self, place: u64, request: T) {
        self.arrivals += 1;
        // With one place for all, the key's second part, the order of coming, decides alone.
        let place = if self.discipline == QueueDiscipline::Fcfs { 0 } else { place };
        self.requests.insert((place, self.arrivals), request);
    }

    /// Takes the next request for an arm at `arm`, which goes there.
    pub(crate) fn take(&mut self, arm: u64) -> Option<T> {
        let (above, below) = (|place| self.above(place), |place| self.below(place));
        let key = match self.discipline {
            QueueDiscipline::Fcfs => above(0),
            // Of two equally near ones on different sides the first to come: a fixed choice would favour a side.
            QueueDiscipline::Sstf => [above(arm), below(arm)]
                .into_iter()
                .flatten()
                .min_by_key(|(place, order)| (place.abs_diff(arm), *order)),
            QueueDiscipline::Look if self.upwards => above(arm).or(below(arm)),
            QueueDiscipline::Look => below(arm).or(above(arm)),
        }?;
        // A request on the arm's own cylinder says nothing about direction: the sweep keeps the one it had.
        if key.0 != arm {
            self.upwards = key.0 > arm;
        }
        self.requests.remove(&key)
    }

    /// The first to come of the nearest place at or above `place`.
    fn above(&self, place: u64) -> Option<(u64, u64)> {
        self.requests.range((place, 0)..).next().map(|(key, _)| *key)
    }

    /// The first to come of the nearest place at or below `place`.
    fn below(&self, place: u64) -> Option<(u64, u64)> {
        let ((nearest, _), _) = self.requests.range(..=(place, u64::MAX)).next_back()?;
        // The range ends with the last to come on that cylinder; the first to come is served first there too.
        self.above(*nearest)
    }
}
