//! Checks of the model against its data.

use provi::checks::Checks;
use serde::{Deserialize, Serialize};

use super::Mirror;

/// The data compared with replicated data.
#[derive(Serialize, Deserialize)]
pub(in crate::record) struct ChecksKeys {
    rows: usize,
    histogram: Vec<BinKeys>,
    calibration: Vec<CalibrationKeys>,
    /// Fitted mean and Pearson residual.
    residuals: Vec<(f64, f64)>,
    statistics: Vec<StatisticKeys>,
    /// Where each response lies in its predictive distribution. Absent in older files.
    #[serde(default)]
    pit: PitKeys,
}

#[derive(Default, Serialize, Deserialize)]
struct PitKeys {
    values: Vec<f64>,
    left_out: bool,
    level: f64,
    band: Vec<BandKeys>,
    bins: Vec<BinKeys>,
}

#[derive(Serialize, Deserialize)]
struct BandKeys {
    at: f64,
    share: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize, Deserialize)]
struct BinKeys {
    low: f64,
    high: f64,
    observed: f64,
    /// 2.5% quantile, median, 97.5% quantile.
    replicated: [f64; 3],
}

#[derive(Serialize, Deserialize)]
struct CalibrationKeys {
    predicted: f64,
    observed: f64,
    interval: (f64, f64),
    rows: usize,
}

#[derive(Serialize, Deserialize)]
struct StatisticKeys {
    name: String,
    observed: f64,
    replicated: [f64; 3],
}

impl Mirror for ChecksKeys {
    type Of = Checks;

    fn of(value: &Checks) -> Result<Self, String> {
        let bin = |bin: &provi::checks::Bin| BinKeys {
            low: bin.low,
            high: bin.high,
            observed: bin.observed,
            replicated: bin.replicated,
        };
        let histogram = value.histogram.iter().map(bin);
        let band =
            value.pit.band.iter().map(|p| BandKeys { at: p.at, share: p.share, low: p.low, high: p.high });
        let calibration = value.calibration.iter().map(|bin| CalibrationKeys {
            predicted: bin.predicted,
            observed: bin.observed,
            interval: bin.interval,
            rows: bin.rows,
        });
        let statistics = value.statistics.iter().map(|statistic| StatisticKeys {
            name: statistic.name.clone(),
            observed: statistic.observed,
            replicated: statistic.replicated,
        });
        Ok(Self {
            rows: value.rows,
            histogram: histogram.collect(),
            calibration: calibration.collect(),
            residuals: value.residuals.clone(),
            statistics: statistics.collect(),
            pit: PitKeys {
                values: value.pit.values.clone(),
                left_out: value.pit.left_out,
                level: value.pit.level,
                band: band.collect(),
                bins: value.pit.bins.iter().map(bin).collect(),
            },
        })
    }
}
