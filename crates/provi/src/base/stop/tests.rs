use super::*;

fn asked(patience: Duration) -> Signal {
    let stop = Stop::default();
    stop.ask();
    Signal::on(&stop).with_patience(patience)
}

#[test]
fn work_that_was_cut_off_has_no_result() {
    let out = asked(Duration::ZERO).during("a sum", || {
        let seen = trips();
        Ok::<_, Error>(seen)
    });
    assert_eq!(out, Err(Error::Stopped { during: "a sum" }));
    // Errors computed from unfinished numbers are not returned.
    let out = asked(Duration::ZERO).during("a sum", || {
        assert!(trips());
        Err::<(), _>(Error::Empty { what: "nothing" })
    });
    assert_eq!(out, Err(Error::Stopped { during: "a sum" }));
}

#[test]
fn within_its_patience_a_stop_is_wanted_and_nothing_is_cut_off() {
    let out = asked(Duration::MAX).during("a sum", || {
        assert!(is_wanted() && !trips() && check().is_ok() && check_early().is_err());
        Ok::<_, Error>(7)
    });
    assert_eq!(out, Ok(7));
    let late = Signal::default().at(Some(Instant::now())).with_patience(Duration::ZERO);
    assert!(late.is_wanted() && late.during("a sum", check).is_err());
    assert!(!Signal::default().is_wanted());
    assert!(Signal::default().during("a sum", check).is_ok());
}

#[test]
fn a_phase_is_cut_off_alone_and_reaches_other_threads() {
    let signal = asked(Duration::ZERO);
    signal.cover(|| {
        // Work between the phases is not cut off: it holds what they kept.
        assert!(is_wanted() && !trips());
        careful_phase("a phase", Duration::ZERO, || {
            assert_eq!(signal.stop.doing(), "a phase");
            let carried = Carried::from_here();
            let elsewhere = || carried.within(trips);
            assert!(std::thread::scope(|s| s.spawn(elsewhere).join()).unwrap());
            assert!(was_cut_off());
        });
        assert!(!was_cut_off() && !trips());
    });
    assert!(!trips() && !is_wanted() && check().is_ok() && phase("alone", check).is_ok());
    assert_eq!(signal.stop.doing(), "");
}

#[test]
fn among_steps_only_evaluations_are_cut_off_and_at_once() {
    let signal = asked(Duration::MAX);
    signal.steps("the steps", || {
        assert!(is_wanted() && !trips());
        assert_eq!(evaluation(check), Err(Error::Stopped { during: "the steps" }));
        assert!(!was_cut_off() && !trips());
    });
    // What was complete when the stop came is kept.
    let stop = Stop::default();
    let whole = Signal::on(&stop).steps("the steps", || {
        evaluation(|| {
            let free = check();
            stop.ask();
            free
        })
    });
    assert_eq!(whole, Ok(()));
    assert_eq!(evaluation(check), Ok(()));
}

#[test]
fn work_apart_is_done_here_there_or_not_at_all() {
    let own = std::thread::current().id();
    let who = move || std::thread::current().id() == own;
    assert_eq!(apart(who), Some(true));
    Signal::default().cover(|| assert_eq!(apart(who), Some(false)));
    let out = asked(Duration::ZERO).during("a factorisation", || Ok::<_, Error>(apart(who)));
    assert_eq!(out, Err(Error::Stopped { during: "a factorisation" }));
}
