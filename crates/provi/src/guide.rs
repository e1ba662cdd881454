//! The chapters of the guide, compiled as doc tests and nowhere else.

#[doc = include_str!("../../../docs/guide/rust-first-fit.md")]
struct RustFirstFit;

#[doc = include_str!("../../../docs/guide/rust-library.md")]
struct RustLibrary;

#[doc = include_str!("../../../docs/guide/plans-and-promises.md")]
struct PlansAndPromises;

#[doc = include_str!("../../../docs/guide/certificates.md")]
struct Certificates;

#[doc = include_str!("../../../docs/guide/curvature.md")]
struct FindingCurvature;

#[doc = include_str!("../../../docs/guide/output-files.md")]
struct OutputFiles;

#[doc = include_str!("../../../README.md")]
struct Readme;
