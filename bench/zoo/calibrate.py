#!/usr/bin/env python3
"""How well provi's verdict separates right answers from wrong ones: witness by witness on the calibration cases, which may be
looked at when limits are chosen, then the verdict itself on the held-out ones, which may not.

    python3 bench/zoo/run.py --columns provi      # first: the answers
    python3 bench/zoo/calibrate.py

Limits live in crates/provi/src/certify/trust/limits.rs and nowhere else.
"""

import argparse
import json

import numpy as np
from cases import SPLITS, cases
from run import RESULTS
from verdicts import WORDS, confusion, off, right, verdict

# "Good" must be right, and "do not use" must catch what is off, in this share of the cases.
SHARE = 0.95


def witnesses(record):
    """Every number that the fit gives about itself, by name."""
    trust, search = record.get("trust") or {}, record.get("model", {}).get("search") or {}
    found = dict(trust.get("witnesses") or record.get("estimates") or {})
    if search:
        found["rivals"] = len(search["rivals"])
        found["disagreement"] = 1.0 - search["at_the_answer"] / max(1, search["beginnings"])
        found["unsettled"] = float(not search["settled"])
    return {name: float(value) for name, value in found.items() if isinstance(value, (int, float))}


def separation(values, truth):
    """The chance that a wrong answer has the larger value than a right one, ties counted half."""
    wrong, fine = values[~truth], values[truth]
    if not len(wrong) or not len(fine):
        return float("nan")
    return float(np.mean((wrong[:, None] > fine) + 0.5 * (wrong[:, None] == fine)))


def largest_limit(values, truth):
    """The largest limit below which the share of right answers is still SHARE."""
    order = np.argsort(values)
    shares = np.cumsum(truth[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(shares >= SHARE)
    return float(values[order][enough[-1]]) if len(enough) else float("nan")


def by_witness(records):
    names = sorted({name for record in records for name in witnesses(record)})
    truth, bad = np.array([right(r) for r in records]), np.array([off(r) for r in records])
    print(f"{len(records)} calibration cases: {truth.sum()} right, {bad.sum()} off by more than 0.5 sd\n")
    print("| witness | wrong above right | off above the rest | median, right | median, off | limit that keeps 95 % right |")
    print("|---|---|---|---|---|---|")
    for name in names:
        # A number that is missing was infinite, or could not be had.
        values = np.array([witnesses(record).get(name, np.inf) for record in records])
        finite = lambda mask: np.median(values[mask]) if mask.any() else float("nan")  # noqa: E731
        print(
            f"| {name} | {separation(values, truth):.2f} | {separation(values, ~bad):.2f} | {finite(truth):.3g} "
            f"| {finite(bad):.3g} | {largest_limit(values, truth):.3g} |"
        )


def mistakes(results, split):
    """The cases in which the verdict is wrong in a way that matters."""
    for case in cases():
        record = results.get(f"{case.name}/provi")
        if record is None or case.split != split:
            continue
        word = verdict(record)
        if (word == WORDS[0] and not right(record)) or (word != WORDS[2] and off(record)):
            numbers = ", ".join(f"{name} {value:.3g}" for name, value in witnesses(record).items())
            print(f"{case.name}: {word}, error {record['mean_error']:.2g}, ratio {record['sd_ratio']:.2g}; {numbers}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=type(RESULTS), default=RESULTS, help="what run.py has kept")
    parser.add_argument("--mistakes", action="store_true", help="list the cases that the verdict has wrong")
    options = parser.parse_args()
    results = json.loads(options.results.read_text())
    records = {case: results.get(f"{case.name}/provi") for case in cases()}
    calibration = [r for case, r in records.items() if r and case.split == "calibration" and "failed" not in r]
    by_witness(calibration)
    for split in reversed(SPLITS):
        print("", *confusion(results, split), sep="\n")
        if options.mistakes and split == "calibration":
            print()
            mistakes(results, split)


if __name__ == "__main__":
    main()
