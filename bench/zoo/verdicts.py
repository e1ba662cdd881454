"""What provi says about its answers, and how often that is so."""

from cases import CONDITIONS, cases

GOOD_MEAN, GOOD_SD, OFF = 0.1, 0.2, 0.5
SPLIT_WORDS = {
    "held out": [
        "A case is a problem with provi's defaults, with a start that nobody would choose (`far`), or with a few evaluations "
        "only (`starved`).",
        "None of these problems was looked at before the limits were fixed, and each was run once, for this table. About half of them are small models "
        "that a user may bring, a fifth has tails or a bend, and three in ten have several parts.",
        "Answers called fair should be weighted; here they are counted as they are.",
    ],
    "reported": ["These were held out when the first limits were chosen. Their tables have been read since, their witnesses have not."],
    "plain": ["The problems of the first table with provi's defaults, as this run found them. Calibration cases are among them: this is no test of the limits."],
    "calibration": ["These were looked at when limits were chosen."],
}
WORDS = ("good", "fair", "do not use")
TABLE_HEAD = "| provi says | right | in between | off by more than 0.5 sd |"


def right(record):
    """Means within 0.1 sd and sds within 20 %."""
    if "failed" in record:
        return False
    return record["mean_error"] < GOOD_MEAN and abs(record["sd_ratio"] - 1.0) < GOOD_SD


def off(record):
    """A mean off by more than half a posterior sd."""
    return not record.get("mean_error", float("inf")) <= OFF


def verdict(record):
    """provi's word; of a version without verdicts, the word it had for its k̂. No verdict and no answer count as "do not use"."""
    if "failed" in record:
        return "do not use"
    trust = record.get("trust")
    if trust is not None:
        return trust["verdict"] or WORDS[2]
    k = record.get("khat")
    return "do not use" if k is None or k > 0.7 else "fair" if k > 0.5 else "good"


def confusion(results, split):
    """Lines of a table: verdict against truth, and the same in a line for each condition."""
    lines = _confusion(results, split, CONDITIONS)
    all_cases = [case for case in cases() if case.split == split]
    ran = sum(f"{case.name}/provi" in results for case in all_cases)
    at = lines.index(TABLE_HEAD)
    lines[at:at] = [f"Measured with commit {results.get('commit', 'unknown')}, on {ran} of {len(all_cases)} cases.", ""]
    for condition in CONDITIONS:
        lines += ["", f"`{condition}` alone: " + _confusion(results, split, (condition,))[-1]]
    return lines


def of_plain(results, have):
    """The same of the plain cases of this run, whichever split they are of."""
    return table(*_counts(results, have, "plain"))


def _confusion(results, split, conditions):
    return table(*_counts(results, [case for case in cases(conditions) if case.split == split], split))


def _counts(results, chosen, title):
    counts, refused = {word: [0, 0, 0] for word in WORDS}, 0
    for case in chosen:
        record = results.get(f"{case.name}/provi")
        if record is None:
            continue
        if "failed" in record:
            refused += 1
            continue
        counts[verdict(record)][0 if right(record) else 2 if off(record) else 1] += 1
    return counts, title, refused


def table(counts, title, refused):
    total = [sum(row[k] for row in counts.values()) for k in range(3)]
    lines = [f"## Is the verdict right? ({title} cases)", "", *SPLIT_WORDS[title], ""]
    lines += [TABLE_HEAD, "|---|---|---|---|"]
    lines += [f"| {word} | {' | '.join(map(str, row))} |" for word, row in counts.items()]
    lines += [f"| all | {' | '.join(map(str, total))} |", ""]
    good, bad = counts["good"], counts["do not use"]
    lines.append(
        f"Of the answers called good, {_share(good[0], sum(good))} are right. Of the answers off by more than 0.5 sd, "
        f"{_share(bad[2], total[2])} are called \"do not use\". Of the right answers, {_share(good[0], total[0])} are called good."
        + (f" In {refused} cases provi raised an error instead; they are not counted." if refused else "")
    )
    return lines


def _share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")
