//! Plots and pages for provi: plain data in, SVG, PNG or HTML out.
//!
//! ```
//! use provi_report::{Coefficient, FitPage, Form, Plot};
//!
//! let age = Coefficient { name: "age".into(), mean: 0.4, sd: 0.1, low: 0.2, high: 0.6, ..Default::default() };
//! let fit = FitPage { title: "Who recovers?".into(), coefficients: vec![age], ..Default::default() };
//! let file = Plot::Forest.svg(&fit, Form::Standalone);   // one plot, for a file of its own
//! let report = fit.html();                               // everything, in one file that needs no network
//! assert!(file.starts_with("<svg") && report.starts_with("<!DOCTYPE html>"));
//! ```
//!
//! | to make | use |
//! |---|---|
//! | the report of a fit | [`FitPage::html`] |
//! | one of its plots | [`Plot`], then [`Scene::to_svg`] or `to_png` (feature `png`) |
//! | any other chart | [`Chart`] |
//! | any other page | [`Page`], of [`Block`]s |
//!
//! Data become a [`Scene`] (shapes at positions), and writers turn scenes into files. A number that is not finite
//! is shown as missing, and all text is escaped. The same data give the same bytes.

#![forbid(unsafe_code)]

mod chart;
mod effects;
mod escape;
mod fit;
mod ink;
pub mod number;
mod page;
mod plot;
mod quantities;
#[cfg(feature = "png")]
mod raster;
mod report;
mod scene;
mod svg;
mod text;
pub mod ticks;

pub use chart::{Axis, Bar, Chart, Point, Span, WIDTH, grid};
pub use effects::{EffectChart, EffectPoint, EffectSeries, EffectsFacts};
pub use escape::escaped;
pub use fit::{
    CalibrationBin, CertificateFacts, Check, Coefficient, Evidence, FitPage, GroupEffects, Light, ModelFacts,
    PitFacts, PredictiveBin, RobustFacts, SensitivityFacts, StatementFacts, Statistic, TracePoint,
};
pub use ink::Ink;
pub use page::{Block, Column, Page, Section, Table};
pub use plot::Plot;
pub use quantities::{Quantities, Quantity};
#[cfg(feature = "png")]
pub use raster::PngError;
pub use scene::Scene;
pub use svg::Form;
