"""C functions and libraries: one call at a time, whoever calls."""

import ctypes
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import provi

# A standard normal that sleeps a while inside, and notes whether it was entered twice.
SOURCE = r"""
#include <stddef.h>
#include <stdatomic.h>
#include <unistd.h>
struct user { int microseconds; atomic_int inside, overlaps, calls; };
int guarded(size_t n, size_t d, const double *z, double *logp, double *grad, void *data) {
    struct user *user = data;
    if (atomic_fetch_add(&user->inside, 1) != 0) atomic_fetch_add(&user->overlaps, 1);
    atomic_fetch_add(&user->calls, 1);
    usleep(user->microseconds);
    for (size_t k = 0; k < n; k++) {
        logp[k] = 0;
        for (size_t i = 0; i < d; i++) {
            logp[k] -= 0.5 * z[k * d + i] * z[k * d + i];
            grad[k * d + i] = -z[k * d + i];
        }
    }
    atomic_fetch_sub(&user->inside, 1);
    return 0;
}
int idle(size_t n, size_t d, const double *z, double *logp, double *grad, void *data) { return 0; }
"""


class User(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("microseconds", "inside", "overlaps", "calls")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None or sys.platform == "win32":
        pytest.skip("needs cc, which compiles the C function of this test")
    folder = tmp_path_factory.mktemp("c")
    (folder / "guarded.c").write_text(SOURCE)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", folder / "guarded.so", folder / "guarded.c"], check=True)
    return folder / "guarded.so"


@pytest.fixture(scope="module")
def library(path):
    return ctypes.CDLL(str(path))


def test_two_python_threads_take_turns(library):
    user, failed = User(200), []
    model = provi.black_box(provi.CFunction(library.guarded, user), 2)

    def work():
        try:
            model.fit(evaluations=300, progress=False)
            model.log_density(np.zeros((3, 2)))
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and user.calls >= 8 and user.overlaps == 0


def test_a_fit_after_the_second_ctrl_c_waits_for_the_abandoned_one(path):
    code = f"""
        import ctypes, os, signal, threading, time
        import numpy as np, provi
        class User(ctypes.Structure):
            _fields_ = [(name, ctypes.c_int) for name in ("microseconds", "inside", "overlaps", "calls")]
        user = User(300_000)
        model = provi.black_box(provi.CFunction(ctypes.CDLL({str(path)!r}).guarded, user), 2)
        def interrupt():
            for _ in range(2):
                time.sleep(0.25)
                os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            model.fit(progress=False)
            print("finished")
        except KeyboardInterrupt:
            print("raised")
        # The first run is still inside the function.
        model.log_density(np.zeros((1, 2)))
        print(user.overlaps)
    """
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert process.stdout.split() == ["raised", "0"], process.stderr


SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, *[ctypes.POINTER(ctypes.c_double)] * 3, ctypes.c_void_p
)


def test_provi_called_from_inside_a_c_function_is_refused_and_does_not_hang(library):
    inner, seen = provi.black_box(provi.CFunction(library.guarded, User(0)), 1), []

    @SIGNATURE
    def outer(n, d, z, logp, grad, user):
        for attempt in (lambda: inner.log_density(np.zeros((1, 1))), lambda: inner.fit(progress=False)):
            try:
                attempt()
                seen.append("done")
            except RuntimeError as error:
                seen.append(str(error))
        # What needs no turn goes on as ever.
        provi.logistic(np.ones((2, 1)), [0, 1]).fit(audit_draws=1, progress=False)
        for k in range(n * d):
            logp[k], grad[k] = -0.5 * z[k] ** 2, -z[k]
        return 0

    provi.black_box(provi.CFunction(outer), 1).log_density(np.zeros((1, 1)))
    assert len(seen) == 2 and all("called once at a time" in words for words in seen)
    seen.clear()
    provi.black_box(provi.CFunction(outer, thread_safe=True), 1).log_density(np.zeros((1, 1)))
    assert seen == ["done", "done"]


def test_what_a_function_did_not_write_is_no_number(library):
    model = provi.black_box(provi.CFunction(library.idle), 2)
    out = np.full(3, 7.0), np.full((3, 2), 7.0)
    model.log_density(np.zeros((3, 2)), out=out)
    assert np.isnan(out[0]).all() and np.isnan(out[1]).all()
    with pytest.raises(ValueError, match="no point with a finite log density"):
        model.fit(progress=False)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: provi.CFunction(True), TypeError, "function is a bool"),
        (lambda: provi.CFunction(-8), ValueError, "function = -8 is no address"),
        (lambda: provi.CFunction(2**64), ValueError, "is no address"),
        (lambda: provi.CFunction(1.5), TypeError, "function is a float"),
        (lambda: provi.CFunction(np.zeros(3)), TypeError, "function is a ndarray, which holds data"),
        (lambda: provi.CFunction(User()), TypeError, "function is a User, which holds data"),
        (lambda: provi.CFunction(8, user=True), TypeError, "user is a bool"),
        (lambda: pickle.dumps(provi.CFunction(8)), TypeError, "an address in this process"),
    ],
)
def test_what_is_no_function_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_ends_what_keeps_nothing(tmp_path):
    code = """
        import os, signal, threading, time
        import numpy as np, provi
        fit = provi.logistic(np.eye(3), [1, 0, 1]).fit(progress=False)
        big = provi.certify(np.zeros(60), np.eye(60), provi.linear(np.eye(60), np.zeros(60), noise_sd=1.0), audit_draws=1)
        slow = provi.black_box(lambda z: (time.sleep(0.4), (-0.5 * z[:, 0] ** 2, -z))[1], 1)
        for work in (lambda: big.sample(20_000_000 // 60 * 8), lambda: slow.log_density(np.zeros((40_000, 1)))):
            threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                work()
                print("finished")
            except KeyboardInterrupt:
                print("raised")
        os._exit(0)
    """
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert process.stdout.split() == ["raised", "raised"], process.stderr
