"""Saved results of which one leaf was changed: what is read has the numbers of the untouched file.

As a program it changes as many files as it is told, and counts: 20,000 are those of the issue.

    python -m tests.test_saved_altered 20000
"""
import copy
import json
import sys
import warnings
from collections import Counter

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, InputError, Labels
from reid_ref.result.means import Expectation
from tests.nightly import cases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: Counts of the gallery alone, which no ranks give.
OF_GALLERY = ("gallery_junk", "gallery_distractors", "gallery_not_loaded", "gallery_kept")


def problem(seed, levels):
    """Distances with many ties, some NaN; queries and images labelled -1 and 0."""
    rng = np.random.default_rng(seed)
    query = Labels(rng.integers(-1, 5, 14), rng.integers(1, 4, 14))
    gallery = Labels(rng.integers(-1, 4, 40), rng.integers(1, 4, 40))
    distances = rng.integers(0, levels, (14, 40)).astype(float)
    distances[3, 5:9] = np.nan
    return distances, query, gallery


def originals():
    """Return results of many conventions, of cut lists, trials and expectations, by name."""
    matlab, found = CONVENTIONS["matlab"], {}
    rules = [*("matlab", "torchreid", "torchreid-function", "fast-reid-cython", "fast-reid",
               "open-reid-allshots", "sysu-mm01", "cuhk03-single-shot", "open-reid-cuhk03",
               "trec-eval", "layumi", "mars", "agw"),
             matlab.replace(ties="reversed"), matlab.replace(ties="grouped"),
             matlab.replace(ap="sklearn-0.19", ties="numpy"), matlab.replace(top_k=7),
             matlab.replace(top_k=9, cut="before-ignoring", recall="found"),
             matlab.replace(cmc_length="shortest", unmatched="nan"),
             matlab.replace(cmc_length=12, unmatched="drop", arithmetic="float32")]
    for seed, levels in enumerate((9, 400)):
        distances, query, gallery = problem(seed, levels)
        for rule in rules:
            result = reid_ref.evaluate_distances(distances, query, gallery, convention=rule)
            found[f"{result.convention.name} {levels}"] = result
    order = np.argsort(distances, axis=1, kind="stable")
    lists = [row[:length] for row, length in zip(order, [12] * 9 + [3, 0, 40, 7, 12])]
    for rule in ("matlab", "trec-eval", matlab.replace(unmatched="drop-unanswered")):
        result = reid_ref.evaluate_ranked_lists(lists, query, gallery, convention=rule)
        found[f"lists {result.convention.name}"] = result
    junk = reid_ref.IndexLists([[1, 2, 9]] * 14, [[0, 2]] * 14)
    found["of index lists"] = reid_ref.evaluate_distances(
        distances, query, gallery, convention="oxford", lists=junk)
    pool, of_pool = Labels([3, 3, 3, 5, 5, 8, 8, 8, 8, 9], np.zeros(10)), rng_of(10)
    for name, trials in (("expectation", None), (
            "trials", [(None, [0, 3, 5, 9]), (None, [1, 4, 8, 9])])):
        found[name] = reid_ref.evaluate_protocol(
            "vehicleid", None, None, pool, pool, distances=of_pool, trials=trials)["all"]
    return found


def rng_of(n):
    return np.random.default_rng(3).random((n, n))


def numbers(result):
    """Return every number that follows from ranks; of an expectation, none."""
    if isinstance(result, Expectation):
        return {}
    curve, counts = result.convention.curve, result.counts
    found = {} if curve.of_rows else {"cmc": result.cmc, "first": result.per_query.first_match}
    names = ["mAP", "mINP", "R-Prec", "MRR", *(
        f"{name}{k}" for k in (1, 2, 3, 5, 7, 12, 30, 99) for name in ("P@", "R@", "AP@",
                                                                       "nDCG@"))]
    if curve.has_values(1):
        names.append("Rank-1")
    for name in names:
        found[name] = result.value(name)
        found[f"{name} of queries"] = result.of_query(name)
    for by in ("identity", "camera"):
        groups = reid_ref.by_group(result, by=by)
        found |= {f"{name} by {by}": values for name, values in groups.means.items()}
    found |= {name: n for name, n in vars(counts).items() if name not in (*OF_GALLERY, "status")}
    found["status"] = sorted((name, n) for name, n in counts.status.items() if n)
    return found


def differing(one, other):
    return [name for name, value in one.items() if (
        value != other[name] if name == "status" else not np.array_equal(
            value, other[name], equal_nan=True))]


def leaves(value, path=()):
    """Yield the way to every leaf."""
    inside = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    if not (isinstance(value, (dict, list)) and value):
        yield path
    for key, each in inside:
        yield from leaves(each, (*path, key))


def altered(value, rng):
    """Return another value of a leaf."""
    if isinstance(value, bool) or value is None:
        return bool(rng.integers(2)) if value is None else not value
    if isinstance(value, int):
        return int(value + rng.choice([-9, -3, -2, -1, -1, -1, 1, 1, 1, 2, 3, 9]))
    if isinstance(value, float):
        return rng.choice([0.0, 1.0, value + .01, value - .01, value + 1e-9, value - 1e-11,
                           value * .5, 1.000000001, float(rng.random())])
    if isinstance(value, str):
        if "|" in value:  # a signature: one field is another, or none
            fields = value.split("|")
            k = int(rng.integers(len(fields)))
            key, _, text = fields[k].partition(":")
            others = ["7", "complete", "3-12", "step", "zero", "drop", text + "1"]
            fields[k:k + 1] = [] if rng.random() < .3 else [f"{key}:{rng.choice(others)}"]
            return "|".join(fields)
        return str(rng.choice(["ok", "only junk", "nothing kept", "not loaded", "step", "drop",
                               "00000000", "", "unknown", "wrong", "zero", value + "x"]))
    return value


def alter(saved, rng, ways):
    """Change one leaf of a saved result, or leave it out; returns which."""
    # Columns are as likely as single fields, whatever their length.
    by_field = {}
    for way in ways:
        by_field.setdefault(tuple(key for key in way if isinstance(key, str)), []).append(way)
    of_field = list(by_field.values())[int(rng.integers(len(by_field)))]
    way = of_field[int(rng.integers(len(of_field)))]
    inside = saved
    for key in way[:-1]:
        inside = inside[key]
    if isinstance(way[-1], str) and rng.random() < .1:
        del inside[way[-1]]
    else:
        before = inside[way[-1]]
        inside[way[-1]] = altered(before, rng)
        if inside[way[-1]] == before and type(inside[way[-1]]) is type(before):
            return None
    return way


def attack(n, folder, seed=0):
    """Return how many altered files there were, were taken, and the leaves of wrong ones."""
    rng, taken, tried, wrong = np.random.default_rng(seed), 0, 0, Counter()
    files = {}
    for name, result in originals().items():
        result.save(folder / "whole.json")
        saved = json.loads((folder / "whole.json").read_text())
        files[name] = saved, numbers(reid_ref.load(folder / "whole.json")), list(leaves(saved))
        assert not differing(numbers(result), files[name][1])
    names = list(files)
    while tried < n:
        name = names[int(rng.integers(len(names)))]
        saved, expected, ways = files[name]
        changed = copy.deepcopy(saved)
        way = alter(changed, rng, ways)
        if way is None:
            continue
        tried += 1
        (folder / "altered.json").write_text(json.dumps(changed))
        try:
            result = reid_ref.load(folder / "altered.json")
        except InputError:
            continue
        taken += 1
        differ = differing(expected, numbers(result))
        if differ:
            wrong[name, way, tuple(differ[:3])] += 1
    return tried, taken, wrong


@pytest.mark.parametrize("n", cases([400], [20000]))
def test_what_is_taken_has_the_numbers_of_the_untouched_file(n, tmp_path):
    tried, taken, wrong = attack(n, tmp_path)
    assert tried == n and taken > n / 50
    assert not wrong


if __name__ == "__main__":
    import tempfile
    from pathlib import Path
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        tried, taken, wrong = attack(int(sys.argv[1]), Path(place), *map(int, sys.argv[2:]))
    print(f"altered {tried:,}, accepted {taken:,}, with another number {sum(wrong.values()):,}")
    for (name, way, differ), count in wrong.most_common(40):
        print(count, name, "/".join(map(str, way)), ", ".join(differ))
