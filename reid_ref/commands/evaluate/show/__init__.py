"""`Result` to text: tables for people, JSON for programs."""
from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from reid_ref.console import confidence
from reid_ref.datasets import Recognised
from reid_ref.datasets.fingerprints import dataset_as_json
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import Labels
from reid_ref.result import RANKS, Counts, Result, named_ranks
from reid_ref.text import WIDTH, by_reason, cells, percent, row, signature_rows, signed_percent

#: Which pairs match, and which are ignored for their query alone, by what is ignored: the rule
#: that ignores most comes first.
_MATCHES = {
    "listed as junk": ("in the query's list of good images",
                       "{:,} ignored (in its list of junk images)"),
    "same location": ("same identity, other location",
                      "{:,} same-location pairs of any identity ignored"),
    "same camera": ("same identity, other camera",
                    "{:,} same-camera pairs of any identity ignored"),
    "same identity, same camera": ("same identity, other camera",
                                   "{:,} same-camera pairs ignored"),
    "label -1": ("same identity, any camera", "no other pairs ignored"),
}


def as_table(result: Result, source: str, sizes: str, dataset: str | None = None,
             ranks: Iterable[int] = RANKS,
             intervals: confidence.Intervals = None) -> str:
    """Return the report for a terminal of 80 columns.

    Parameters
    ----------
    result : Result
    source : str
        Which file, in which layout.
    sizes : str
        Dimension and dtype of what was evaluated.
    dataset : str, optional
        Which benchmark it is, where it is one.
    ranks : iterable of int
        Which Rank-k are shown.
    intervals : mapping, optional
        By one name, that of the convention, the intervals by metric.
    """
    lines = [line for name, text in facts(result, source, sizes, dataset)
             for line in row(name, text)]
    lines += ["", *_numbers(headline(result, ranks), intervals), ""]
    lines += [] if intervals is None else confidence.notes(intervals)
    return "\n".join([*lines, *signature_rows(str(result.signature))])


def facts(result: Result, source: str, sizes: str,
          dataset: str | None = None) -> list[tuple[str, str]]:
    """Return what was evaluated, by name, in words; parameters as for `as_table`."""
    counts = result.counts
    return [
        ("input", source),
        ("images", f"{counts.query:,} queries, {counts.gallery:,} gallery; {sizes}"),
        *([("dataset", dataset)] if dataset else []),
        ("gallery", _gallery(counts)),
        ("matches", matches(result)),
        ("queries", statuses(counts)),
        ("ties", _ties(counts)),
    ]


def _numbers(numbers: list[tuple[str, float]], intervals: confidence.Intervals) -> list[str]:
    if intervals is not None:
        found, = intervals.values()
        return confidence.single(numbers, found)
    return [f"{'':10}{'percent':>9}  full precision",
            *(f"{name:10}{percent(value):>9}  {value!r}" for name, value in numbers)]


def sizes(data: ResultFile) -> str:
    """Return dimension and dtype of what a file holds, in words."""
    return data.input.words(len(data.gallery))


#: The layout of a saved result, in words.
SAVED = "a saved result"


def sizes_of_saved(result: Result) -> str:
    """Return what a saved result was evaluated from, as far as its signature says it."""
    found = re.search(r"\|(features|distances):(\w+)", str(result.signature))
    return " ".join(found.groups()) if found else "ranked lists"


def headline(result: Result, ranks: Iterable[int] = RANKS) -> list[tuple[str, float]]:
    """Return the numbers that papers print, in their order."""
    return [*named_ranks(result.cmc, ranks).items(), ("mAP", result.mAP), ("mINP", result.mINP)]


def matches(result: Result) -> str:
    """Return the pairs that match, and those ignored for their query, in words."""
    counts, ignored = result.counts, result.convention.ignored
    good, junk = next((words for rule, words in _MATCHES.items() if rule in ignored),
                      ("same identity, any camera", "{:,} pairs ignored"))
    return f"{counts.good:,} ({good})" + (
        f"; {junk.format(counts.junk_same_camera)}" if ignored else "")


def statuses(counts: Counts) -> str:
    """Return the queries by status, in words; statuses that no query has are left out."""
    reasons = [f"{n:,} no match ({name})" for name, n in counts.status.items()
               if n and name not in ("ok", "not loaded")]
    if counts.status["not loaded"]:
        reasons.append(f"{counts.status['not loaded']:,} labelled -1 (not loaded)")
    return "; ".join([f"{counts.status['ok']:,} ok", *reasons])


def _gallery(counts: Counts) -> str:
    are = "is a distractor" if counts.gallery_distractors == 1 else "are distractors"
    distractors = f"{counts.gallery_distractors:,} of {{}} {are} (label 0)"
    if counts.gallery_not_loaded:
        return (f"{counts.gallery_kept:,} loaded; {counts.gallery_not_loaded:,} not loaded (label "
                "-1: the toolbox's loader leaves them out)"
                + (f"; {distractors.format('the loaded')}" if counts.gallery_distractors else ""))
    if counts.gallery_kept < counts.gallery:
        return (f"{counts.gallery_kept:,} kept, {counts.gallery_junk:,} junk (label -1)"
                + (f"; {distractors.format('the kept')}" if counts.gallery_distractors else ""))
    others = [distractors.format("them")] if counts.gallery_distractors else []
    if counts.gallery_junk:
        others.append(f"{counts.gallery_junk:,} are labelled -1, which this convention does not "
                      "ignore")
    return "; ".join([f"{counts.gallery_kept:,} kept", *([", ".join(others)] if others else [])])


def _ties(counts: Counts) -> str:
    bounds = "; --ties bounds shows how much their order can change" if counts.tied else ""
    return tied_queries(counts.tied, counts.query) + bounds


def tied_queries(tied: int, n_query: int) -> str:
    """Return how many queries depend on the order of equal distances, in words."""
    if not tied:
        return "none that affect the result"
    return f"{tied:,} of {n_query:,} queries have a good and a wrong image at the same distance"


def conventions_table(results: dict[str, Result], left_out: dict[str, str], source: str,
                      sizes: str, ranks: tuple[int, ...] = (1, 5, 10),
                      intervals: confidence.Intervals = None) -> str:
    """Return one line a convention: mAP and Rank-k in percent, and mAP's difference to one.

    Parameters
    ----------
    results : dict of str to Result
        `matlab`, or else the first, is what the others are compared with.
    left_out : dict of str to str
        Conventions that were not computed, and why.
    source, sizes, ranks, intervals
        As for `as_table`.
    """
    first = "matlab" if "matlab" in results else next(iter(results))
    reference = results[first]
    counts = reference.counts
    lines = row("input", source)
    lines += row("images", f"{counts.query:,} queries, {counts.gallery:,} gallery; {sizes}")
    lines += row("ties", _ties(counts))
    indent = max(12, WIDTH - 7 * (len(ranks) + 3) - 6)
    heads = ["mAP", "+/-", *(f"R-{k}" for k in ranks), "mINP"]
    lines += ["", cells("convention", heads, indent)[-1] + f"{'used':>6}"]
    for name, result in results.items():
        points = [percent(float(result.cmc[k - 1])) if k <= len(result.cmc) else "-"
                  for k in ranks]
        difference = signed_percent(result.mAP - reference.mAP)
        lines += cells(name, [percent(result.mAP), difference, *points,
                              percent(result.mINP)], indent)
        lines[-1] += f"{result.counted:>6}"
    lines += ["", *row("+/-", f"mAP minus the mAP of {first}, in percentage points")]
    lines += row("used", "number of queries in the mean of mAP")
    for why, names in by_reason(left_out).items():
        lines += row("left out", f"{', '.join(names)}: {why}")
    lines += confidence.several(intervals)
    lines += signature_rows(str(reference.signature))
    return "\n".join(lines)


def beside(results: dict[str, Result], source: str, remarks: list[str],
           ranks: tuple[int, ...] = RANKS, intervals: confidence.Intervals = None) -> str:
    """Return the numbers of several results in columns, in percent, each with its change.

    Parameters
    ----------
    results : dict of str to Result
        By a name of at most 15 letters; the first is what the others are compared with.
    source : str
    remarks : list of str
    """
    first = next(iter(results.values()))
    lines = row("input", source)
    lines += row("images", f"{first.counts.query:,} queries, {first.counts.gallery:,} gallery")
    for remark in remarks:
        lines += row("note", remark)
    names = [f"{name:>16}" for name in results]
    lines += ["", f"{'percent':10}" + f"{'change':>9}".join([names[0] + names[1], *names[2:], ""])]
    for (name, original), *others in zip(*(headline(one, ranks) for one in results.values())):
        lines.append(f"{name:10}{percent(original):>16}" + "".join(
            f"{percent(value):>16}{signed_percent(value - original):>9}" for _, value in others))
    lines += confidence.several(intervals) or [""]
    for one in results.values():
        lines += signature_rows(str(one.signature))
    return "\n".join(lines)


def reranked_remarks(variant: str, gallery: Labels, reranked: Result) -> list[str]:
    """Return what to know of a result after re-ranking, for `beside`."""
    left_out = len(gallery) - reranked.counts.gallery
    if not left_out:
        return []
    return [f"{variant} re-ranks a gallery without label -1: {left_out:,} images left out"]


def results_as_json(results: dict[str, Result], left_out: dict[str, str],
                    found: Recognised | None, length: int | None,
                    intervals: confidence.Intervals = None) -> dict[str, Any]:
    """Return the benchmark, and one result as it is or several by convention, for JSON.

    `length`: how many ranks of the CMC curve, as `Result.to_dict` takes it.
    """
    answers = each_as_json(results, length, intervals)
    body = ({"conventions": answers, "left_out": left_out} if len(results) > 1
            else answers.popitem()[1])
    return {"dataset": dataset_as_json(found), **body}


def each_as_json(results: dict[str, Result], length: int | None,
                 intervals: confidence.Intervals = None) -> dict[str, dict[str, Any]]:
    """Return each result for JSON, with its intervals where they were asked for."""
    return {name: {**one.to_dict(length), **confidence.as_json(intervals, name)}
            for name, one in results.items()}
