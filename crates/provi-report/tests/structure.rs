//! What holds for every drawing and page, whatever the data.

use proptest::prelude::*;
use provi_report::{
    Axis, Bar, CalibrationBin, Chart, Check, Coefficient, Evidence, FitPage, Form, Light, ModelFacts,
    PitFacts, Plot, Point, PredictiveBin, Span, StatementFacts, Statistic, TracePoint,
};
use roxmltree::{Document, Node};

/// How wide text is in one of the narrower system fonts, and so a bound from below of what must fit.
fn least_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * 0.3 * size
}

/// Every x and y that a drawing puts ink at.
fn places(node: Node<'_, '_>) -> Vec<(f64, f64)> {
    let number = |name: &str| node.attribute(name).map_or(0.0, |text| text.parse::<f64>().unwrap());
    match node.tag_name().name() {
        "circle" => {
            let (x, y, r) = (number("cx"), number("cy"), number("r"));
            vec![(x - r, y - r), (x + r, y + r)]
        }
        "rect" => {
            let (x, y) = (number("x"), number("y"));
            vec![(x, y), (x + number("width"), y + number("height"))]
        }
        "text" => {
            let (x, y, size) = (number("x"), number("y"), number("font-size"));
            let width = least_width(node.text().unwrap_or_default(), size);
            let left = match node.attribute("text-anchor") {
                Some("middle") => x - width / 2.0,
                Some("end") => x - width,
                _ => x,
            };
            vec![(left, y - 0.7 * size), (left + width, y + 0.2 * size)]
        }
        "path" => {
            let d = node.attribute("d").unwrap().replace("h0", " ");
            let words = d.split(['M', 'L', 'Z', ' ']).filter(|w| !w.is_empty());
            let numbers: Vec<f64> = words.map(|w| w.parse().unwrap()).collect();
            numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect()
        }
        _ => Vec::new(),
    }
}

/// Well-formed, described, and all of it inside the frame.
fn assert_sound(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
    let root = document.root_element();
    assert_eq!((root.tag_name().name(), root.attribute("role")), ("svg", Some("img")));
    assert!(root.attribute("aria-label").is_some_and(|label| !label.is_empty()));
    let frame: Vec<f64> =
        root.attribute("viewBox").unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
    for node in root.descendants().filter(Node::is_element) {
        for (x, y) in places(node) {
            let inside = x >= -0.5 && y >= -0.5 && x <= frame[2] + 0.5 && y <= frame[3] + 0.5;
            assert!(inside, "({x}, {y}) of {node:?} is outside {frame:?}");
        }
    }
}

/// Numbers as they may come: ordinary, huge, tiny, none.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -10.0..10.0f64,
        2 => (-300.0..300.0f64, any::<bool>()).prop_map(|(e, s)| if s { 10f64.powf(e) } else { -10f64.powf(e) }),
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE]),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z]{1,8}",
        1 => ".{0,60}",
        1 => Just("<script>alert('x')</script>&amp;\"".to_owned()),
        1 => Just("averyveryverylongname".repeat(20)),
    ]
}

fn coefficient() -> impl Strategy<Value = Coefficient> {
    let optional = || prop::option::of(number().prop_map(f64::abs));
    (name(), number(), number(), optional(), optional(), prop::option::of(number()), optional()).prop_map(
        |(name, mean, sd, mean_error, sd_error, prior_mean, prior_sd)| Coefficient {
            name,
            mean,
            sd: sd.abs(),
            low: mean - 2.0 * sd.abs(),
            high: mean + 2.0 * sd.abs(),
            mean_error,
            sd_error,
            prior_mean,
            prior_sd,
        },
    )
}

fn check() -> impl Strategy<Value = Check> {
    let triple = || [number(), number(), number()];
    let bin = (number(), number(), number(), triple())
        .prop_map(|(low, high, observed, replicated)| PredictiveBin { low, high, observed, replicated });
    let calibration =
        (number(), number(), (number(), number())).prop_map(|(predicted, observed, interval)| {
            CalibrationBin { predicted, observed, interval, rows: 3 }
        });
    prop_oneof![
        (name(), prop::collection::vec(bin, 0..6), any::<bool>())
            .prop_map(|(axis, bins, rooted)| Check::Predictive { axis, bins, rooted }),
        prop::collection::vec(calibration, 0..6).prop_map(|bins| Check::Calibration {
            bins,
            left_out: false,
            likeliest: false
        }),
        (name(), name(), prop::collection::vec((number(), number()), 0..9))
            .prop_map(|(kind, axis, points)| Check::Residuals { kind, axis, points }),
        (
            prop::collection::vec((triple(), number()), 0..6),
            prop::collection::vec((number(), number()), 0..6)
        )
            .prop_map(|(band, pairs)| Check::Pit(PitFacts {
                rows: 6,
                level: 0.95,
                band: band.iter().map(|([a, b, c], d)| [*a, *b, *c, *d]).collect(),
                bins: Vec::new(),
                quantiles: pairs.iter().map(|&(x, y)| (x, y, 1)).collect(),
                quantile_band: [pairs.clone(), pairs],
                left_out: false,
            })),
        (name(), number(), triple()).prop_map(|(name, observed, replicated)| Check::Statistics {
            rows: vec![Statistic { name, observed, replicated }],
        }),
    ]
}

fn fit() -> impl Strategy<Value = FitPage> {
    let point = (0u64..1_000_000, number(), prop::option::of(number()))
        .prop_map(|(step, value, gap_bound)| TracePoint { step, value, gap_bound });
    let evidence =
        (prop::option::of(number()), prop::option::of(number()), prop::option::of((number(), number())))
            .prop_map(|(lower, upper, estimate)| Evidence {
                lower,
                upper,
                estimate,
                elbo: lower,
                remark: String::new(),
            });
    (
        name(),
        prop::collection::vec(coefficient(), 0..9),
        prop::collection::vec(number(), 45),
        prop::collection::vec(point, 0..9),
        evidence,
        prop::collection::vec(check(), 0..3),
    )
        .prop_map(|(title, coefficients, mut correlation, trace, evidence, checks)| {
            correlation.truncate(coefficients.len() * (coefficients.len() + 1) / 2);
            let model = ModelFacts { formula: title.clone(), ..ModelFacts::default() };
            FitPage { title, model, coefficients, correlation, trace, evidence, checks, ..FitPage::default() }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_plot_of_every_fit_is_sound(fit in fit()) {
        for plot in Plot::ALL {
            assert_sound(&plot.svg(&fit, Form::Standalone));
            assert_sound(&plot.svg(&fit, Form::Inline));
        }
    }

    #[test]
    fn every_page_is_escaped_and_holds_sound_drawings(fit in fit()) {
        let html = fit.html();
        // Its own script, and no other.
        prop_assert_eq!(html.matches("<script").count(), 1);
        for drawing in html.split("<svg").skip(1) {
            let end = drawing.find("</svg>").unwrap();
            assert_sound(&format!("<svg{}</svg>", &drawing[..end]));
        }
        // Apart from its void elements, the page is XML as well.
        let void = ["<meta", "<link"];
        let lines = html.lines().skip(1).filter(|line| !void.iter().any(|v| line.starts_with(v)));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        prop_assert!(Document::parse(&text).is_ok(), "{:?}", Document::parse(&text).err());
    }

    #[test]
    fn every_chart_is_sound(
        points in prop::collection::vec((number(), number(), number()), 0..12), log_x: bool, log_y: bool, label in name(),
    ) {
        let axis = |log| if log { Axis::log(&label) } else { Axis::linear(&label) };
        let pairs: Vec<(f64, f64)> = points.iter().map(|p| (p.0, p.1)).collect();
        let marks = points.iter().map(|&(x, y, z)| Point { x, y, error: Some((y.min(z), y.max(z))), title: label.clone() });
        let chart = Chart::new("a chart", axis(log_x), axis(log_y))
            .titled(&label)
            .line(&label, &pairs)
            .steps("steps", &pairs)
            .band(&label, &points)
            .points("points", marks.collect())
            .cloud("cloud", &pairs)
            .scatter("scatter", &pairs.iter().map(|&p| (p, label.clone())).collect::<Vec<_>>())
            .hover(pairs.iter().map(|&p| (p, label.clone())).collect())
            .bars("bars", points.iter().map(|&(low, high, height)| Bar { low, high, base: 0.3, height, title: String::new() }).collect())
            .spans("spans", 5.0, 0.5, points.iter().map(|&(y, low, high)| Span { y, low, high, title: String::new() }).collect())
            .ellipse("ellipse", (0.0, 1.0), [2.0, 0.3, 0.7], 2.0)
            .level("level", 0.5)
            .upright("upright", 0.5)
            .diagonal("diagonal")
            .slope("slope", (1.0, 1.0), -1.0);
        let noted = pairs.iter().fold(chart, |chart, &at| chart.note(at, &label));
        assert_sound(&noted.scene().to_svg(Form::Standalone));
        assert_sound(&noted.key().to_svg(Form::Standalone));
    }
}

fn many(d: usize) -> FitPage {
    let coefficient = |i: usize| {
        let mean = (i as f64 * 0.37).sin();
        Coefficient {
            name: format!("gene_{i:04}"),
            mean,
            sd: 0.2,
            low: mean - 0.4,
            high: mean + 0.4,
            ..Coefficient::default()
        }
    };
    FitPage {
        title: "many".to_owned(),
        coefficients: (0..d).map(coefficient).collect(),
        correlation: vec![0.1; d * (d + 1) / 2],
        ..FitPage::default()
    }
}

#[test]
fn a_thousand_coefficients_are_cut_down_and_the_page_says_so() {
    let html = many(1000).html();
    for claim in [
        "The first 200 of 1000",
        "the 40 of 1000 coefficients",
        "the 12 clearest of 1000",
        "of 1000 coefficients",
    ] {
        assert!(html.contains(claim), "{claim}");
    }
    assert!(html.len() < 400_000, "{} bytes", html.len());
}

#[test]
fn one_coefficient_is_enough() {
    let fit = many(1);
    Plot::ALL.iter().for_each(|plot| assert_sound(&plot.svg(&fit, Form::Standalone)));
    assert!(fit.html().contains("1\u{a0}coefficient<"));
}

#[test]
fn a_page_is_the_same_each_time_and_asks_nobody_for_anything() {
    let html = many(30).html();
    assert_eq!(html, many(30).html());
    let outside = ["@import", "url(", "src=", "<iframe", "<object", "fetch(", "XMLHttpRequest", "import("];
    assert!(outside.iter().all(|word| !html.contains(word)));
    assert_eq!(html.matches("://").count(), html.matches("http://www.w3.org/2000/svg").count());
    assert!(html.contains("default-src 'none'") && html.matches("<script").count() == 1);
    // A page that does not ask for the script has none.
    let plain = provi_report::Page { interactive: false, ..many(30).page() }.html();
    assert!(!plain.contains("<script") && !plain.contains("Content-Security-Policy"));
}

#[test]
fn a_light_is_told_by_word_and_shape_as_well_as_colour() {
    let lights = [Light::Green, Light::Amber, Light::Red].map(|light| {
        let mut fit = many(1);
        fit.certificate.light = light;
        let html = fit.html();
        assert!(html.contains(&format!("<p class=\"word\">{}</p>", light.word())));
        let sign = html.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap().to_owned();
        sign.split("<path d=").nth(1).map(str::to_owned)
    });
    assert!(lights[0] != lights[1] && lights[1] != lights[2] && lights[0] != lights[2]);
}

#[test]
fn what_is_not_proved_is_said_to_be_so() {
    let mut fit = many(1);
    fit.certificate.statements = vec![StatementFacts {
        what: "KL".to_owned(),
        value: "no curvature".to_owned(),
        ..StatementFacts::default()
    }];
    assert!(fit.html().contains("not proved: no curvature"));
}
