//! The plots of a fit, by name.

mod checks;
mod correlation;
mod effects;
mod evidence;
mod forest;
mod groups;
mod marginals;
mod pairs;
mod trace;

pub(crate) use checks::views as check_views;
pub(crate) use effects::charts as effect_charts;
pub(crate) use forest::ROWS as FOREST_ROWS;
pub(crate) use groups::{LEVELS as GROUP_LEVELS, charts as group_charts};
pub(crate) use marginals::charts as marginal_charts;
pub(crate) use pairs::charts as pair_charts;

use crate::chart;
use crate::fit::FitPage;
use crate::scene::Scene;
use crate::svg::Form;

/// A plot of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Plot {
    /// Estimates with their intervals, and the certified error of each.
    Forest,
    /// What the model says about each variable, the others held.
    Effects,
    /// −ELBO and the bound of the gap, step by step.
    Trace,
    /// Posterior densities against the prior's.
    Marginals,
    /// Densities of the scales against their priors'.
    Scales,
    /// The effects of groups, in the order of their size.
    Groups,
    /// Correlations as a heat map.
    Correlation,
    /// Ellipses of the most correlated pairs.
    Pairs,
    /// Checks of the model against the data.
    Checks,
    /// The log evidence: proved interval, ELBO and estimate.
    Evidence,
}

impl Plot {
    /// All plots.
    pub const ALL: [Self; 10] = [
        Self::Forest,
        Self::Effects,
        Self::Trace,
        Self::Marginals,
        Self::Scales,
        Self::Groups,
        Self::Correlation,
        Self::Pairs,
        Self::Checks,
        Self::Evidence,
    ];

    /// The name of the plot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forest => "forest",
            Self::Effects => "effects",
            Self::Trace => "trace",
            Self::Marginals => "marginals",
            Self::Scales => "scales",
            Self::Groups => "groups",
            Self::Correlation => "correlation",
            Self::Pairs => "pairs",
            Self::Checks => "checks",
            Self::Evidence => "evidence",
        }
    }

    /// The plot of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plot| plot.name() == name)
    }

    /// Draws it. If the fit lacks what the plot needs, the drawing says so.
    pub fn scene(self, page: &FitPage) -> Scene {
        match self {
            Self::Forest => forest::scene(page),
            Self::Effects => {
                let label = "effects of the variables, the others held";
                several(label, &page.effects.charts(), 3, "this fit keeps no ranges of its variables")
            }
            Self::Trace => trace::scene(page),
            Self::Marginals => {
                let charts = marginals::charts(page);
                let label = "posterior densities against the prior's";
                several(label, &charts, 3, "no coefficient has a finite mean and sd")
            }
            Self::Scales => {
                let label = "densities of the scales against their priors'";
                several(label, &page.quantities.charts(), 3, "no scale of this fit has a density")
            }
            Self::Groups => {
                let label = "effects of groups, in the order of their size";
                several(label, &groups::charts(page), 1, "this fit has no groups")
            }
            Self::Correlation => correlation::scene(page),
            Self::Pairs => {
                let charts = pairs::charts(page);
                let label = "ellipses of the most correlated pairs of coefficients";
                several(label, &charts, 3, "no pair of coefficients with a known correlation")
            }
            Self::Checks => {
                let charts = checks::check_charts(page);
                let label = "checks of the model against the data";
                several(label, &charts, 1, "this fit holds no checks against its data")
            }
            Self::Evidence => evidence::scene(page),
        }
    }

    /// Draws it as SVG.
    pub fn svg(self, page: &FitPage, form: Form) -> String {
        self.scene(page).to_svg(form)
    }
}

fn several(label: &str, charts: &[chart::Chart], columns: usize, otherwise: &str) -> Scene {
    if charts.is_empty() {
        Scene::message(chart::WIDTH, otherwise)
    } else {
        chart::grid(label, charts, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plot_answers_to_its_name_and_survives_an_empty_fit() {
        for plot in Plot::ALL {
            assert_eq!(Plot::from_name(plot.name()), Some(plot));
            assert!(plot.svg(&FitPage::default(), Form::Inline).ends_with("</svg>"));
        }
        assert_eq!(Plot::from_name("pie"), None);
    }
}
