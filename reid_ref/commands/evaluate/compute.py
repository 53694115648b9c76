"""What `reid-ref evaluate` answers: results by method and convention, and details of one."""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy import ma

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.console.answers import Origin, dataset_of
from reid_ref.console.given import Given, Image
from reid_ref.datasets import Recognised
from reid_ref.evaluation.camera_pairs import CameraPairs, camera_pairs_of
from reid_ref.evaluation.groups import BY_DEFAULT, by_group
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import worst_queries
from reid_ref.measures import COLUMNS, measure
from reid_ref.protocols.result import Also
from reid_ref.result import Result, in_mean
from reid_ref.result.parts import Fingerprints
from reid_ref.result.views import Numbers, as_fields, numbers_of
from reid_ref.statistics import Interval
from reid_ref.text.plain import KEYS, Share, key

Value = TypeVar("Value")


class Method(NamedTuple):
    """One result file and its numbers.

    Parameters
    ----------
    name : str
        Of its row.
    files : list of str
    layout, sizes : str
        As reports show them.
    benchmark : Recognised or None
        The benchmark that its labels are of.
    results : mapping of str to Result
        By convention.
    findings : sequence of Finding
        What the doctor finds.
    lacking : mapping of str to str
        Conventions that its labels do not suffice for, and why.
    intervals : dict of str to dict of str to Interval, or None
        By convention and metric.
    also : Also, optional
        Of a protocol: the number that other papers print.
    read_as : str
        Of a protocol: what was read, if labels are from elsewhere.
    """

    name: str
    files: list[str]
    layout: str
    sizes: str
    benchmark: Recognised | None
    results: Mapping[str, Result]
    findings: Sequence[Finding] = ()
    lacking: Mapping[str, str] = MappingProxyType({})
    intervals: dict[str, dict[str, Interval]] | None = None
    also: Also | None = None
    read_as: str = ""


def by_row(values: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Return row name to value: the method's name, with the convention where it has several."""
    return {f"{name} ({convention})" if len(by_convention) > 1 else name: value
            for name, by_convention in values.items()
            for convention, value in by_convention.items()}


def rows_of(methods: Iterable[Method]) -> dict[str, Result]:
    """Return the result of each row."""
    return by_row({method.name: method.results for method in methods})


def intervals_of(methods: Iterable[Method]) -> dict[str, dict[str, Interval]] | None:
    """Return the intervals of each row by metric; None where none were requested."""
    return by_row({method.name: method.intervals or {} for method in methods}) or None


class AtRow(NamedTuple):
    """Numbers of the first k images."""

    k: int
    accuracy: Share
    precision: Share
    recall: Share
    mAP: Share


@dataclass(frozen=True)
class QueryRow:
    """What one query got; without a good image `ap`, `inp` and `first_match` are null.

    Without cameras, `camera` is null. `further`: its values of measures that are no other key.
    """

    query: int
    identity: int | str
    camera: int | str | None
    status: str
    counted: bool
    ap: Share
    inp: Share
    first_match: int | None
    n_good: int
    n_junk: int
    further: dict[str, float] = field(kw_only=True, default_factory=dict, metadata=KEYS)


@dataclass(frozen=True)
class WorstRow(QueryRow):
    """A query of low AP, and its nearest wrong image."""

    nearest_wrong: Image | None


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """The numbers of one identity, or of one query camera."""

    identity: int | str | None = None
    camera: int | str | None = None
    queries: int
    counted: int
    mAP: Share
    Rank_1: Share
    mINP: Share
    further: dict[str, float] = field(kw_only=True, default_factory=dict, metadata=KEYS)

    @property
    def numbers(self) -> dict[str, float]:
        """The means by measure."""
        return {key(name): value for name, value in vars(self).items()} | self.further


@dataclass(frozen=True)
class PairMatrices:
    """Pairs of cameras as JSON has them: each number by its name, Rank-1 or mAP."""

    rule: str
    cameras: list[int | str]
    mean: dict[str, float]
    matrix: dict[str, list[list[float]]]
    queries: dict[str, list[list[int]]]
    signature: str


@dataclass(frozen=True, kw_only=True)
class Details:
    """More of one result than its headline, where it is requested."""

    at: list[AtRow] | None = None
    worst: list[WorstRow] | None = None
    by: dict[str, list[GroupRow] | PairMatrices] | None = None


@dataclass(frozen=True, kw_only=True)
class Evaluated(Details, Numbers, Origin):
    """One result as JSON has it."""

    confidence: dict[str, Interval] | None = None


class Evaluations(NamedTuple):
    """Several results as JSON has them, and the conventions left out, with the reason."""

    results: list[Evaluated]
    left_out: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class PerQueryFile(Numbers):
    """What `--per-query FILE.json` writes."""

    labels: Fingerprints
    queries: list[QueryRow]


def evaluated(methods: Iterable[Method], length: int | None, details: Details | None = None,
              measures: Sequence[str] = ()) -> list[Evaluated]:
    """Return each result for JSON, its curve to rank `length`; `details` are of every one."""
    return [Evaluated(
        name=method.name, files=method.files, layout=method.layout,
        dataset=dataset_of(method.benchmark), convention=convention,
        **numbers_of(result, length, measures), **vars(details or Details()),
        confidence=None if method.intervals is None else method.intervals[convention])
        for method in methods for convention, result in method.results.items()]


def query_rows(result: Result, measures: Iterable[str] = ()) -> list[QueryRow]:
    """Return what each query got, in their order, and its values of further measures."""
    per_query, has_cameras = result.per_query, result.per_query.camera.size
    columns: dict[str, Any] = {
        "identity": per_query.texts("identity"),
        "camera": (per_query.texts("camera") if has_cameras else
                   np.full(len(per_query.identity), None)),
        "status": per_query.status,
        "counted": in_mean(result), **{each.column: result.of_query(each.name)
                                       for each in COLUMNS},
        "first_match": ma.masked_equal(per_query.first_match, 0), "n_good": per_query.n_good,
        "n_junk": per_query.n_junk}
    names = list(columns)
    columns |= {name: result.of_query(name) for name in extra_columns(measures)}
    return [QueryRow(query, **as_fields(dict(zip(columns, row)), names))
            for query, row in enumerate(zip(*(each.tolist() for each in columns.values())))]


def extra_columns(measures: Iterable[str]) -> list[str]:
    """Return the measures that are no column of every row of queries."""
    return [name for name in measures if not measure(name).column]


def pair_matrices(pairs: CameraPairs) -> PairMatrices:
    """Return pairs of cameras for JSON."""
    return PairMatrices(
        pairs.rule, pairs.cameras.tolist(),
        {"Rank-1": pairs.mean_rank1, "mAP": pairs.mAP},
        {"Rank-1": pairs.rank1_matrix.tolist(), "mAP": pairs.ap_matrix.tolist()},
        {"Rank-1": pairs.rank1_count.tolist(), "mAP": pairs.ap_count.tolist()},
        str(pairs.signature))


def worst_rows(result: Result, given: Given, how: How, count: int,
               measures: Iterable[str] = ()) -> list[WorstRow]:
    """Return the queries of lowest AP, with their nearest wrong images."""
    queries, rows = worst_queries(result, count), query_rows(result, measures)
    return [WorstRow(**vars(rows[query]), nearest_wrong=image)
            for query, image in zip(queries.tolist(), given.nearest_wrong(queries, how))]


#: Values of --by that are pairs of cameras, and their rules.
PAIRS = {"camera-pair": "plain", "view-pair": "views"}


def groups_of(result: Result, given: Given, how: How, by: str,
              measures: Sequence[str] = ()) -> list[GroupRow] | PairMatrices:
    """Return the numbers of each group, or of pairs of cameras by the distances of the result.

    Identities are by mAP, the lowest first, cameras by number.
    """
    if by in PAIRS:
        data = given.data
        return pair_matrices(camera_pairs_of(data.input, data.query, data.gallery, PAIRS[by],
                                             replace(how, lists=None)))
    groups, rows = by_group(result, by=by, measures=measures), list[GroupRow]()
    columns = groups.value, groups.queries, groups.counted, *groups.means.values()
    for value, queries, counted, *numbers in zip(*(column.tolist() for column in columns)):
        means = dict(zip(groups.means, numbers))
        rows.append(GroupRow(**{by: value}, queries=queries, counted=counted,
                             **as_fields(means, BY_DEFAULT)))
    return rows if by == "camera" else sorted(rows, key=lambda row: (row.mAP != row.mAP, row.mAP))
