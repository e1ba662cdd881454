"""What happens while a fit runs: interrupts, threads, progress, memory."""

import doctest
import importlib
import io
import pkgutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import provi


def interrupted(code, delay=0.0):
    """Runs a script, sends it SIGINT when it says so, and returns what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().strip() == "ready"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.split()


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@needs_signals
def test_ctrl_c_ends_a_run_with_the_fit_so_far():
    words = interrupted(
        """
        import numpy as np, provi
        X = np.random.default_rng(0).normal(size=(2000, 20))
        model = provi.logistic(X, X[:, 0] > 0)
        print("ready", flush=True)
        fit = model.fit(method="prox-energy", steps=100_000_000)
        print(fit.stopped_early, 0 < fit.steps < 100_000_000, np.isfinite(fit.mean).all())
        """,
        delay=1.0,
    )
    assert words == ["True", "True", "True"]


@needs_signals
def test_ctrl_c_in_a_callback_ends_the_run_too():
    words = interrupted(
        """
        import time, numpy as np, provi
        calls = 0
        def fn(z):
            global calls
            calls += 1
            if calls == 20:
                print("ready", flush=True)
                time.sleep(60)
            return -0.5 * (z**2).sum(axis=1), -z
        fit = provi.fit(fn, 3, evaluations=10**9)
        print(fit.stopped_early, np.isfinite(fit.mean).all())
        """
    )
    assert words == ["True", "True"]


@needs_signals
def test_the_second_ctrl_c_is_raised():
    words = interrupted(
        """
        import os, signal, provi
        def fn(z):
            os.kill(os.getpid(), signal.SIGINT)
            return -0.5 * (z**2).sum(axis=1), -z
        print("ready", flush=True)
        try:
            try:
                import time; time.sleep(60)
            except KeyboardInterrupt:
                provi.fit(fn, 3)
        except KeyboardInterrupt:
            print("raised")
        """
    )
    assert words == ["raised"]


def test_a_time_limit_ends_a_run():
    X = np.random.default_rng(0).normal(size=(500, 5))
    fit = provi.logistic(X, X[:, 0] > 0).fit(method="prox-energy", steps=10**9, time_limit=0.2)
    assert fit.stopped_early and fit.steps < 10**9


def test_other_threads_run_while_a_fit_does():
    X = np.random.default_rng(0).normal(size=(500, 5))
    model = provi.logistic(X, X[:, 0] > 0)
    done, counted = threading.Event(), [0]

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    model.fit(method="prox-energy", steps=10**9, time_limit=0.5)
    done.set()
    thread.join()
    # With the lock held for half a second the thread would count to one or two.
    assert counted[0] >= 20


def test_fits_of_one_model_may_run_side_by_side(data, density):
    model = provi.black_box(density, 2)
    expected = model.fit(seed=3).mean
    found = []
    threads = [threading.Thread(target=lambda: found.append(model.fit(seed=3).mean)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all((mean == expected).all() for mean in found)


def test_progress_is_told_and_drawn(monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 5))
    model = provi.logistic(X, X[:, 0] > 0)
    seen = []
    how = {"method": "prox-energy", "steps": 200_000, "time_limit": 0.3}
    model.fit(progress=lambda *at: seen.append(at), **how)
    assert seen and all(0 < step <= steps == 200_000 for step, steps, _, _ in seen)
    for wanted, drawn in ((True, True), (False, False), (None, False)):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        model.fit(progress=wanted, **how)
        assert ("step" in stream.getvalue()) == drawn and (not drawn or stream.getvalue().endswith("\r"))


def test_an_exception_of_the_observer_is_raised():
    def observer(*_):
        raise LookupError("enough")

    X = np.random.default_rng(0).normal(size=(500, 5))
    with pytest.raises(LookupError, match="enough"):
        provi.logistic(X, X[:, 0] > 0).fit(method="prox-energy", steps=200_000, progress=observer)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc, which Linux alone has")
@pytest.mark.parametrize("each", [200, pytest.param(3000, marks=pytest.mark.slow)])
def test_small_fits_leave_no_memory_behind(each):
    X = np.array([[0.5], [-1.5], [2.0], [0.1]])
    model = provi.logistic(X, [1, 0, 1, 0])
    black_box = provi.black_box(lambda z: (-0.5 * (z * z)[:, 0], -z), 1)

    def failing(z):
        raise ValueError

    def fits(count):
        for _ in range(count):
            model.fit(audit_draws=1, progress=False)
            fit = black_box.fit(evaluations=50, progress=False)
            fit.summary()
            with pytest.raises(ValueError):
                provi.fit(failing, 1)

    fits(each // 6)
    before = resident()
    fits(each)
    # Three fits a round: a kilobyte a fit would be nine megabytes in 3000 rounds, and so would 15 in 200.
    assert resident() - before < 4 << 20


MODULES = sorted(m.name for m in pkgutil.iter_modules(provi.__path__) if m.name != "_provi")


@pytest.mark.parametrize("name", ["", *MODULES])
def test_the_examples_of_the_docstrings_hold(name):
    module = importlib.import_module(f"provi.{name}" if name else "provi")
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0
