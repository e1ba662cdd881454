use super::Audit;

#[test]
fn the_shares_of_all_looks_of_all_searches_add_up_to_delta() {
    let share = |look, searches| Audit { look, searches, ..Audit::default() }.share();
    assert!((share(0, 1) - 1e-6).abs() <= 0.0);
    for searches in [1, 2, 7] {
        let all: f64 = (1..=1_000).map(|look| f64::from(searches) * share(look, searches)).sum();
        // δ(1 − 1/1001): no more than δ, and hardly less.
        assert!((all / 1e-6 - (1.0 - 1.0 / 1_001.0)).abs() < 1e-12, "{all:e}");
    }
}
