"""Which package runs with which setting on which workload.

Each package has its defaults, and settings chosen by hand that are labelled tuned: Adam on W1, W2 and W4 from one to three
tries with the exact gap in sight, Adam on W3 and W5 carried over untried. `seconds` are processor seconds; `chunk` the
steps between the first looks.
"""


def adam(package, label, rate, draws, seconds, last=None, chunk=20):
    name = f"Adam {rate:g}" + (f" to {last:g} over {seconds:g} s" if last else "") + f", {draws} draws"
    return package, {
        "label": label,
        "name": name,
        "rate": rate,
        "last": last,
        "draws": draws,
        "seconds": seconds,
        "chunk": chunk,
    }


def bam(draws, regulariser, label, seconds):
    name = f"batch {draws}, regulariser {'dB' if regulariser == 'dB' else regulariser}/(1+i)"
    setting = {"label": label, "name": name, "draws": draws, "regulariser": regulariser, "seconds": seconds, "chunk": 1}
    return "bam", setting


def gsm(draws, label, seconds):
    setting = {"label": label, "name": f"batch {draws}", "draws": draws, "seconds": seconds, "chunk": 1}
    return "gsm", setting


def pymc_default(seconds):
    setting = {"label": "default", "name": "adagrad_window, 1 draw", "draws": 1, "seconds": seconds, "chunk": 20}
    return "pymc_advi", setting


def stan(label, draws, tolerance):
    """It ends by its own rule, so one round is all there is, whatever it takes."""
    return "stan_advi", {
        "label": label,
        "name": f"{draws} draws a step, tolerance {tolerance:g}",
        "draws": draws,
        "tolerance": tolerance,
        "iterations": 10_000,
        "seconds": 1e-9,
        "chunk": 10_000,
    }


STAN = [stan("default", 1, 0.01), stan("tuned", 10, 0.001)]


def settings(workload, first, with_stan):
    """(package, setting) in the order in which they run; only the `first` few if that is given."""
    return SETTINGS[workload][:first] + (STAN if with_stan else [])


SETTINGS = {
    "W1": [
        bam(64, "dB", "tuned", 0.5),
        bam(32, "dB", "tuned", 0.5),
        adam("blackjax_vi", "tuned", 1e-3, 10, 1.5, chunk=100),
        adam("numpyro_svi", "tuned", 0.05, 10, 0.5, last=1e-4, chunk=100),
        adam("pymc_advi", "tuned", 0.01, 1, 2),
        gsm(2, "default", 1),
        bam(2, 100, "default", 0.5),
        adam("blackjax_vi", "default", 1e-3, 100, 2),
        adam("numpyro_svi", "default", 0.01, 1, 1),
        pymc_default(2),
    ],
    "W2": [
        adam("blackjax_vi", "tuned", 0.05, 10, 2, last=1e-4, chunk=100),
        bam(128, "dB", "tuned", 0.5),
        adam("numpyro_svi", "tuned", 0.1, 10, 2, last=1e-4, chunk=100),
        bam(2048, "dB", "tuned", 1),
        adam("pymc_advi", "tuned", 0.01, 1, 2),
        gsm(2, "default", 1),
        bam(2, 100, "default", 0.5),
        adam("blackjax_vi", "default", 1e-3, 100, 2),
        adam("numpyro_svi", "default", 0.01, 1, 1),
        pymc_default(2),
    ],
    "W3": [
        bam(64, "dB", "tuned", 0.5),
        bam(128, "dB", "tuned", 0.5),
        gsm(2, "default", 1.5),
        adam("numpyro_svi", "tuned", 0.02, 10, 12, last=1e-4),
        adam("blackjax_vi", "default", 1e-3, 100, 4),
        adam("numpyro_svi", "default", 0.01, 1, 2),
        pymc_default(3),
    ],
    "W4": [
        bam(512, "dB", "tuned", 1.5),
        adam("blackjax_vi", "tuned", 0.01, 10, 30, last=1e-4),
        bam(2048, "dB", "tuned", 2.5),
        adam("blackjax_vi", "tuned", 0.01, 10, 8, last=1e-4),
        adam("numpyro_svi", "tuned", 0.02, 10, 8, last=1e-4),
        gsm(2, "default", 2),
        adam("blackjax_vi", "default", 1e-3, 100, 3),
        adam("numpyro_svi", "default", 0.01, 1, 2),
        pymc_default(3),
    ],
    "W5": [
        bam(600, "dB", "tuned", 1),
        bam(510, "dB", "tuned", 1),
        adam("blackjax_vi", "tuned", 0.01, 10, 20, last=1e-4),
        adam("numpyro_svi", "tuned", 0.02, 10, 8, last=1e-4),
        gsm(2, "default", 2),
        adam("blackjax_vi", "default", 1e-3, 100, 4),
        adam("numpyro_svi", "default", 0.01, 1, 2),
        pymc_default(3),
    ],
}
