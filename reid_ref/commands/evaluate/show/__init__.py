"""Results as tables for a terminal."""
from collections.abc import Mapping, Sequence

import numpy as np

from reid_ref.commands.evaluate.compute import (
    AtRow, Details, GroupRow, Method, PairMatrices, WorstRow, intervals_of, rows_of)
from reid_ref.console import confidence
from reid_ref.disk import tables_of
from reid_ref.evaluation.camera_pairs import RULES
from reid_ref.evaluation.groups import BY_DEFAULT
from reid_ref.result import HEADLINE, Result, headline, sd_of, values_of
from reid_ref.result.parts import Counts
from reid_ref.text import (
    by_reason, named_rows, percent, row, signature_lines, signature_rows, signed_percent, source,
    tied_queries_text, visible, wrap)
from reid_ref.text.table import lines as table_lines

#: Which pairs match, and which are ignored for their query alone, by what is ignored.
_MATCHES = tables_of("commands/evaluate/show/pairs.toml")
#: Identities that a table shows.
SHOWN = 20


def one_result(method: Method, measures: Sequence[str] = HEADLINE) -> str:
    """Return the report of one file under one convention."""
    result, = method.results.values()
    text = named_rows([*facts(
        result, source(method.files, method.layout), method.sizes,
        method.benchmark.sentence if method.benchmark else None, measures), ("", "")])
    numbers = headline(result, measures)
    if method.intervals is None:
        text += table_lines(["", "percent", "full precision"], [
            [name, percent(value), repr(value)]
            for name, value in numbers.items()], left=(0, 2), indent=10) + [""]
    else:
        by_metric, = method.intervals.values()
        text += confidence.single(numbers, by_metric) + [""]
        text += confidence.notes(method.intervals)
    return "\n".join([*text, *signature_lines({"": str(result.signature)})])


def facts(result: Result, source: str, sizes: str,
          dataset: str | None = None,
          measures: Sequence[str] = HEADLINE) -> list[tuple[str, str]]:
    """Return what was evaluated, by name, in words.

    Parameters
    ----------
    result : Result
    source : str
        Which file, in which layout.
    sizes : str
        Dimension and dtype of what was evaluated.
    dataset : str, optional
        Which benchmark it is, where it is one.
    measures : sequence of str
        Whose standard deviations over trials are told.
    """
    counts, n = result.counts, len(result.trials)
    spread = ", ".join(f"{name} {percent(value)}"
                       for name, value in sd_of(result, headline(result, measures)).items())
    return [
        ("input", source),
        *([("trials", f"{n}: the numbers are means over them (sd {spread}); below, all are "
            "counted together")] if n > 1 else
          [("trials", f"none: the expectation over all galleries (sd of one draw {spread})")]
          if n == 0 else []),
        ("images", f"{counts.query:,} queries, {counts.gallery:,} gallery; {sizes}"),
        *([("dataset", dataset)] if dataset else []),
        ("gallery", _gallery(counts)),
        ("matches", matches(result)),
        ("queries", statuses(counts)),
        *([("ties", _ties(result))] if n else []),
    ]


def matches(result: Result) -> str:
    """Return the pairs that match, and those ignored for their query, in words."""
    counts, ignored = result.counts, result.convention.ignored
    words = next(words for rule, words in _MATCHES.items() if rule in ignored or (
        rule == "label -1"))  # without a rule any camera, too
    good, junk = words["match"], words["ignored"].format(f"{counts.junk_same_camera:,}")
    if "cameras" in result.signature:  # none are known
        good = good.removesuffix(", any camera")
    return f"{counts.good:,} ({good})" + (f"; {junk}" if ignored else "")


def statuses(counts: Counts) -> str:
    """Return the queries by status, in words; statuses that no query has are left out."""
    reasons = [f"{n:,} no match ({name})" for name, n in counts.status.items()
               if n and name not in ("ok", "not loaded")]
    if counts.status["not loaded"]:
        reasons.append(f"{counts.status['not loaded']:,} labelled -1 (not loaded)")
    return "; ".join([f"{counts.status['ok']:,} ok", *reasons])


def _gallery(counts: Counts) -> str:
    kept, which, note = f"{counts.gallery_kept:,} kept", "them", ""
    if counts.gallery_not_loaded:
        kept, which = (f"{counts.gallery_kept:,} loaded; {counts.gallery_not_loaded:,} not loaded "
                       "(label -1: the toolbox's loader leaves them out)"), "the loaded"
    elif counts.gallery_kept < counts.gallery:
        kept, which = f"{kept}, {counts.gallery_junk:,} junk (label -1)", "the kept"
    elif counts.gallery_junk:
        note = f"{counts.gallery_junk:,} are labelled -1, which this convention does not ignore"
    n = counts.gallery_distractors
    are = "is a distractor" if n == 1 else "are distractors"
    notes = ", ".join(filter(None, [f"{n:,} of {which} {are} (label 0)" if n else "", note]))
    return f"{kept}; {notes}" if notes else kept


def _ties(result: Result) -> str:
    counts = result.counts
    bounds = ("; reid-ref ties shows how much their order can change"
              if counts.tied and "protocol" not in result.signature else "")
    return tied_queries_text(counts.tied, counts.query) + bounds


def by_convention(method: Method, left_out: Mapping[str, str],
                  measures: Sequence[str] = HEADLINE) -> str:
    """Return one line per convention in percent, and the difference of the first measure to one.

    `matlab`, or else the first, is what the others are compared with. `left_out`: conventions
    that were not computed, and why.
    """
    results = method.results
    first = "matlab" if "matlab" in results else next(iter(results))
    reference = results[first]
    counts = reference.counts
    text = row("input", source(method.files, method.layout))
    text += row("images", f"{counts.query:,} queries, {counts.gallery:,} gallery; {method.sizes}")
    text += row("ties", _ties(reference))
    main, *more = _heads(measures)
    before, rows = values_of(reference, measures)[0], []
    for name, result in results.items():
        value, *values = values_of(result, measures)
        rows.append([name, percent(value), signed_percent(value - before), *map(percent, values),
                     str(result.counted)])
    text += ["", *table_lines(["convention", main, "diff", *more, "used"], rows)]
    main = measures[0]
    text += ["", *row("diff", f"{main} minus the {main} of {first}, in percentage points")]
    text += row("used", "number of queries in the mean of mAP")
    text += _other_distances(results, reference)
    text += _left_out(left_out) + confidence.several(method.intervals, measures)
    return "\n".join([*text, *signature_lines({"": str(reference.signature)})])


def _other_distances(results: Mapping[str, Result], reference: Result) -> list[str]:
    """Return which rows rank raw features where the reference does not, or the other way."""
    normalize = reference.signature.get("normalize")
    others = [name for name, result in results.items()
              if result.signature.get("normalize") != normalize]
    if not others:
        return []
    which = "raw" if normalize == "yes" else "normalised"
    return row("distances", f"of {which} features, as in these toolboxes: {', '.join(others)}; "
               "--normalize or --no-normalize makes all rows alike")


def _heads(measures: Sequence[str]) -> list[str]:
    return [name.replace("Rank-", "R-") for name in measures]


def _left_out(left_out: Mapping[str, str]) -> list[str]:
    return [line for why, names in by_reason(dict(left_out)).items()
            for line in row("left out", f"{', '.join(names)}: {why}")]


def by_method(methods: Sequence[Method], left_out: Mapping[str, str],
              measures: Sequence[str] = HEADLINE) -> str:
    """Return what each method's files hold, and one line per row in percent."""
    text: list[str] = []
    for method in methods:
        counts = next(iter(method.results.values())).counts
        text += row("input", f"{method.name}: {source(method.files, method.layout)}")
        text += row("", f"{counts.query:,} queries, {counts.gallery:,} gallery; {method.sizes}"
                    + (f"; {method.benchmark.sentence}" if method.benchmark else ""))
    rows = rows_of(methods)
    text += ["", *table_lines(
        ["percent", *_heads(measures), "used"],
        [[name, *map(percent, values_of(result, measures)), str(result.counted)]
         for name, result in rows.items()])]
    text += ["", *row("used", "number of queries in the mean of mAP")]
    text += confidence.several(intervals_of(methods), measures) + _left_out(left_out)
    return "\n".join([*text, *signature_lines(
        {name: str(result.signature) for name, result in rows.items()})])


def details(more: Details, measures: Sequence[str] = ()) -> str:
    """Return the tables of what was requested, groups by these measures."""
    text = _at(more.at) if more.at else []
    text += _worst(more.worst) if more.worst is not None else []
    for by, rows in (more.by or {}).items():
        text += (_pairs(rows) if isinstance(rows, PairMatrices) else
                 _groups(by, rows, measures or BY_DEFAULT))
    return "\n".join(text)


def _at(rows: Sequence[AtRow]) -> list[str]:
    names = ("accuracy", "precision", "recall", "mAP")
    return ["", *table_lines(["at k", *names], [
        [str(at.k), *(percent(getattr(at, name)) for name in names)] for at in rows], indent=10)]


def _worst(rows: Sequence[WorstRow]) -> list[str]:
    heads = ["worst", "identity", "cam", "AP", "first", "good", "wrong", "identity", "cam",
             "status"]
    cells = [[str(query.query), str(query.identity), str(query.camera), percent(query.ap),
              str(query.first_match or "-"), str(query.n_good),
              *(["-"] * 3 if query.nearest_wrong is None else
                map(str, query.nearest_wrong)), query.status] for query in rows]
    has_cameras = not rows or any(query.camera is not None for query in rows)
    kept = [k for k, head in enumerate(heads) if has_cameras or head != "cam"]
    table = table_lines([heads[k] for k in kept], [[line[k] for k in kept] for line in cells],
                        left=(len(kept) - 1,))
    return ["", *table, *wrap(
        "worst: queries of lowest AP (percent), by number from 0; first: rank of the first "
        "match; good: number of good images; wrong: nearest wrong gallery image, by number from "
        f"0, with its identity{' and camera' if has_cameras else ''}", rest="    ")]


def _groups(by: str, rows: Sequence[GroupRow], measures: Sequence[str]) -> list[str]:
    """Return one line per group, of as many identities as one can look at."""
    shown = rows[:SHOWN] if by == "identity" else rows
    text = ["", *table_lines([by, "queries", "counted", *measures], [
        [str(getattr(group, by)), str(group.queries), str(group.counted),
         *(percent(numbers[name]) for name in measures)]
        for group in shown for numbers in [group.numbers]], indent=10)]
    return text + ([f"and {len(rows) - len(shown):,} more; --json has all"]
                   if len(shown) < len(rows) else [])


def _pairs(pairs: PairMatrices) -> list[str]:
    """Return both matrices and their means, in percent."""
    cameras = list(map(str, pairs.cameras))
    text = ["", *row("rule", f"{pairs.rule}: {RULES[pairs.rule]}")]
    for name in ("mAP", "Rank-1"):
        text += ["", f"{name}, percent; down: camera of the query, across: of the gallery"]
        text += table_lines(["", *cameras], [
            [camera, *(f"{percent(value):>6}" for value in values)]
            for camera, values in zip(cameras, pairs.matrix[name])], left=(), indent=8)
    text += ["", *table_lines(["mean over different cameras", "percent", "full precision"], [
        [name, percent(pairs.mean[name]), repr(pairs.mean[name])]
        for name in ("mAP", "Rank-1")], left=(0, 2), indent=30)]
    if pairs.rule == "views":
        text += ["", *row("all pairs", ", ".join(
            f"{name} {percent(float(np.nanmean(pairs.matrix[name])))}" for name in pairs.matrix)
            + "; equal cameras included")]
    blank = ", ".join(f"{n} in {name}" for name in ("mAP", "Rank-1") if (n := sum(
        value != value for k, values in enumerate(pairs.matrix[name])
        for value in (*values[:k], *values[k + 1:]))))
    if blank:
        text += ["", *row("no score", f"pairs of different cameras: {blank}; they are left out of "
                                      "the mean")]
    return [*text, "", *signature_rows(pairs.signature)]


def ranking(qrels: str, run: str, queries: int, lines: int) -> str:
    """Return both file names, what is in them, and how trec_eval reads them."""
    qrels, run = map(visible, (qrels, run))
    return (f"wrote {qrels} and {run}: {queries:,} queries, {lines:,} lines each\n"
            f"next  trec_eval -J -c -m map -m success.1,5,10,20 {qrels} {run}")
