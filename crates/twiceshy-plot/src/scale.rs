//! From values to places on an axis.

/// An axis: which values it shows, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// From `low` to `high` in equal steps.
    Linear {
        /// The value at the start.
        low: f64,
        /// The value at the end.
        high: f64,
    },
    /// From `low` to `high` in equal ratios. Both are above 0; smaller values are drawn at the start.
    Log {
        /// The value at the start.
        low: f64,
        /// The value at the end.
        high: f64,
    },
}

impl Scale {
    /// From 0 to a round number that is not less than any of the values.
    pub fn linear(values: impl IntoIterator<Item = f64>) -> Self {
        let most = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let high = if most > 0.0 { most } else { 1.0 };
        let step = step(high);
        Self::Linear { low: 0.0, high: (high / step).ceil() * step }
    }

    /// The powers of ten around the values that are at least `floor`; two of them at least.
    pub fn log(values: impl IntoIterator<Item = f64>, floor: f64) -> Self {
        let (least, most) = values
            .into_iter()
            .filter(|value| value.is_finite())
            .map(|value| value.max(floor))
            .fold((f64::INFINITY, 0f64), |(least, most), value| (least.min(value), most.max(value)));
        if most <= 0.0 {
            return Self::Log { low: floor, high: floor * 10.0 };
        }
        let (low, high) = ((least.log10() + 1e-9).floor(), (most.log10() - 1e-9).ceil());
        Self::Log { low: 10f64.powf(low), high: 10f64.powf(high.max(low + 1.0)) }
    }

    /// Where a value lies: 0 at the start of the axis, 1 at its end, never outside.
    pub fn place(&self, value: f64) -> f64 {
        let place = match *self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } => (value.max(low) / low).ln() / (high / low).ln(),
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// Round numbers on the axis, not many.
    pub fn marks(&self) -> Vec<f64> {
        match *self {
            Self::Linear { low, high } => {
                let step = step(high - low);
                let count = ((high - low) / step + 1e-9).floor() as i32;
                (0..=count).map(|number| low + f64::from(number) * step).collect()
            }
            Self::Log { low, high } => {
                let decades = (high / low).log10();
                let steps: &[f64] = match decades {
                    decades if decades < 1.2 => &[1.0, 2.0, 5.0],
                    decades if decades < 2.2 => &[1.0, 3.0],
                    _ => &[1.0],
                };
                let first = (low.log10() - 1e-9).floor() as i32;
                let last = high.log10().ceil() as i32;
                (first..=last)
                    .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
                    .filter(|mark| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(mark))
                    .collect()
            }
        }
    }
}

/// A round step that divides a range into four to eight parts or so.
fn step(range: f64) -> f64 {
    let power = 10f64.powf((range / 5.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0].into_iter().find(|step| range / (step * power) <= 6.0);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        assert_eq!(Scale::linear([22.0, 7.0]).marks(), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(Scale::linear([]).place(0.5), 0.5);
        let Scale::Log { low, high } = Scale::log([0.0, 0.7, 100.0], 0.1) else { panic!("a log scale") };
        assert!((low - 0.1).abs() < 1e-12 && (high - 100.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(Scale::Log { low: 1.0, high: 1e3 }.marks(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::Log { low: 0.4, high: 2.5 }.marks(), [0.5, 1.0, 2.0]);
        for most in [0.003, 0.9, 1.0, 7.0, 33.0, 99.0, 101.0, 12_345.0] {
            let scale = Scale::linear([most]);
            assert!((3..=8).contains(&scale.marks().len()), "{most}: {:?}", scale.marks());
            assert!(scale.place(most) > 0.6, "{most}");
        }
    }

    #[test]
    fn places_are_on_the_axis_whatever_the_value() {
        for scale in [Scale::linear([5.0]), Scale::log([5.0, 500.0], 1.0), Scale::log([], 0.1)] {
            for value in [-1.0, 0.0, 1e-9, 1e9, f64::NAN, f64::INFINITY] {
                assert!((0.0..=1.0).contains(&scale.place(value)), "{scale:?} {value}");
            }
        }
        let scale = Scale::Log { low: 0.5, high: 2.0 };
        assert!((scale.place(1.0) - 0.5).abs() < 1e-12);
    }
}
