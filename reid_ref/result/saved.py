"""A saved result, read back: each value checked by itself, then against the ranks it is of."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.conventions import CHOICES, Convention
from reid_ref.disk import PathLike
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.result import SAVED, STATUSES, Counts, Fingerprints, PerQuery, Result
from reid_ref.result.stored import (
    QueryTable, Stored, checks, is_whole, read_object, shown, table_of_rows, value_of)
from reid_ref.signature import Signature, convention_of, fields_of, parse_signature

#: What is read here, for messages.
EXPECTED = "what reid-ref evaluate FILE --save OUT.json or Result.save wrote"
#: How far a number may be off the ranks that it is of: the sums of another machine differ in their
#: last bits, and those in float32 by more.
NEAR = 1e-6


def load(path: PathLike) -> Result:
    """Read a result that `Result.save` or `reid-ref evaluate FILE --save OUT.json` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Result
        As it was saved: the same doubles, ranks, labels and convention.

    Raises
    ------
    InputError
        The file cannot be read, is damaged or cut, was not saved so or by a newer version, or its
        numbers contradict its ranks; the message names the file and the field.

    Examples
    --------
    >>> import os, tempfile
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances([[.2, .1, .3]], query, gallery)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ours.json")
    ...     result.save(path)
    ...     loaded = load(path)
    >>> loaded.mAP == result.mAP, loaded.ranks.rank, loaded.convention.name
    (True, array([2, 3]), 'matlab')
    """
    result = read_table(path, EXPECTED).result
    if result is None:
        raise InputError(f"{path}: schema", f"{SAVED}, {EXPECTED}",
                         "the values of each query without ranks", "save the result anew")
    return result


def read_table(path: PathLike, expected: str, *, must_hold: bool = True) -> QueryTable:
    """Read a saved result, or what `evaluate --per-query` wrote; JSON but for a name in .csv.

    `expected` is for messages: what the file should be. `must_hold`: numbers of a saved result
    that contradict its ranks are refused.

    Raises
    ------
    InputError
        It cannot be read, or is not such a file: the query and the key are named.
    """
    value = read_object(path, expected)
    if value.get("schema") != SAVED:
        return table_of_rows(value, path, expected)
    table = _saved(value, str(path))
    if must_hold:
        _check_sound(_stored(table))
    return table


def read_stored(path: str, *, must_hold: bool = True) -> Stored:
    """Read a saved result, or a file of --per-query in JSON, with its convention.

    Raises
    ------
    InputError
        It cannot be read, is not such a file, or is CSV, which has no signature.
    """
    table = read_table(path, "what reid-ref evaluate FILE --per-query OUT.json writes",
                       must_hold=must_hold)
    if "signature" not in table.numbers:
        raise InputError(path, "JSON, which has the signature", "CSV", "write it with reid-ref "
                         "evaluate FILE --per-query OUT.json")
    return _stored(table)


def _stored(table: QueryTable) -> Stored:
    result = table.result
    if result is not None:
        return Stored(**vars(table), fields=result.signature, convention=result.convention)
    try:
        fields = parse_signature(table.numbers["signature"])
        return Stored(**vars(table), fields=fields, convention=convention_of(fields))
    except InputError as error:
        raise InputError(table.path, got=error) from None


def _signature(text: str, convention: Convention, path: str) -> Signature:
    """Return the signature of a saved result, which must be that of its convention."""
    try:
        signature = parse_signature(text, convention.name)
    except InputError as error:
        raise InputError(path, got=error) from None
    expected = fields_of(convention)
    for key in ("convention", *CHOICES, "top_k"):
        if signature.get(key) != expected.get(key):
            raise InputError(path, got=f"signature: expected {key} {expected.get(key)}, as the "
                             f"convention has, got {signature.get(key)}")
    return signature


def _check_sound(stored: Stored) -> None:
    """Refuse numbers that contradict each other by more than arithmetic explains."""
    for check in checks(stored):
        if not check.agrees and not _is_near(check.written, check.found):
            raise InputError(
                f"{stored.path}: {check.name}", got=f"contradicts what the {check.source} give",
                remedy="see reid-ref verify, or save the result anew")


def _is_near(written: Any, computed: Any) -> bool:
    try:
        first, second = (np.array(value, dtype=np.float64) for value in (written, computed))
    except (TypeError, ValueError):
        return False
    return first.shape == second.shape and np.allclose(first, second, 0, NEAR, equal_nan=True)


class _Values(NamedTuple):
    """An object of a saved file, whose values are checked as they are read."""

    values: Any
    where: str

    def value(self, key: str, fits: Callable[[Any], bool]) -> Any:
        """Return the value of a key."""
        return value_of(self.values, key, fits, self.where, EXPECTED)

    def inside(self, key: str) -> _Values:
        """Return the object that is the value of a key."""
        self.value(key, lambda value: isinstance(value, dict))
        return _Values(self.values[key], f"{self.where}: {key}")

    def count(self, key: str) -> int:
        """Return a whole number from 0."""
        return int(self.value(key, lambda value: is_whole(value) and value >= 0))

    def list_of(self, key: str, kinds: set[type], n: int | None = None) -> list[Any]:
        """Return a list of values of these types, `n` of them."""
        values: list[Any] = self.value(key, lambda value: isinstance(value, list))
        if n is not None and len(values) != n:
            raise InputError(self.where, got=f"{key}: expected {n} values, got {len(values)}",
                             remedy="is the file complete?")
        if not set(map(type, values)) <= kinds:
            k = next(k for k, value in enumerate(values) if type(value) not in kinds)
            words = " or ".join(sorted("null" if kind is type(None) else kind.__name__
                                       for kind in kinds))
            raise InputError(self.where, got=f"{key}: expected {words}, got {shown(values[k])} in "
                             f"entry {k}")
        return values

    def integers(self, key: str, n: int, least: int = -2**63) -> Integers:
        """Return whole numbers, none of them below `least`; 0 where a first match is null."""
        is_match = key == "first_match"
        values = self.list_of(key, {int, type(None)} if is_match else {int}, n)
        values = [value or 0 for value in values] if is_match else values
        lowest, highest = min(values, default=least), max(values, default=least)
        if lowest < least or highest >= 2**63:
            raise InputError(self.where, got=f"{key}: expected whole numbers from {least}, below "
                             f"2**63, got {lowest if lowest < least else highest}")
        return np.array(values, dtype=np.int64)

    def shares(self, key: str, n: int | None = None) -> Doubles:
        """Return numbers from 0 to 1; NaN where the file has null."""
        values = self.list_of(key, {float, int, type(None)}, n)
        for k, value in enumerate(values):
            if value is not None and not 0 <= value <= 1 + NEAR:
                raise InputError(self.where, got=f"{key}: expected numbers from 0 to 1, got "
                                 f"{shown(value)} in entry {k}")
        return np.array([np.nan if value is None else value for value in values], np.float64)

    def share(self, key: str) -> float:
        """Return a number from 0 to 1."""
        alone = self._replace(values={key: [self.values.get(key, "none")]})
        return float(alone.shares(key)[0])


def _saved(value: dict[str, Any], path: str) -> QueryTable:
    """Return the table and the result of a saved file, each value checked by itself."""
    file = _Values(value, path)
    for key in ("parts", "trials"):
        if key in value:
            raise InputError(path, got=f"{key}: expected no such key, which is reserved for "
                             "results of several parts or trials", remedy="take a newer reid-ref")
    queries, ranks, choices, numbers, labels = map(
        file.inside, ("queries", "ranks", "convention", "counts", "labels"))
    prints = Fingerprints(*(labels.value(side, lambda text: isinstance(text, str))
                            for side in Fingerprints._fields))
    per_query, counts = _per_query(queries), _counts(numbers)
    convention = _convention(choices)
    result = Result(
        mAP=file.share("mAP"), cmc=file.shares("cmc"), mINP=file.share("mINP"),
        per_query=per_query, counts=counts, counted=file.count("counted"),
        signature=_signature(value["signature"], convention, path), convention=convention,
        ranks=_ranks(ranks, per_query, counts.gallery), fingerprints=prints)
    counted = queries.list_of("counted", {bool}, len(per_query.status))
    return QueryTable(path, value, per_query, np.array(counted), result)


def _per_query(queries: _Values) -> PerQuery:
    status = queries.list_of("status", {str})
    for k, name in enumerate(status):
        if name not in STATUSES:
            raise InputError(queries.where, got=f"status: expected one of {', '.join(STATUSES)}, "
                             f"got {shown(name)} in entry {k}")
    n = len(status)
    whole = {name: queries.integers(name, n, 0) for name in ("first_match", "n_good", "n_junk")}
    return PerQuery(
        ap=queries.shares("ap", n), inp=queries.shares("inp", n), **whole,
        status=np.array(status, dtype=f"<U{max(map(len, STATUSES))}"),
        identity=queries.integers("identity", n),
        camera=queries.integers("camera", n if queries.values.get("camera") else 0))


def _ranks(ranks: _Values, per_query: PerQuery, n_gallery: int) -> GoodRanks:
    columns = {name: ranks.integers(name, len(per_query.status), 0)
               for name in ("found", "n_kept", "first_match")}
    columns |= {name: ranks.integers(name, int(columns["found"].sum()), least)
                for name, least in (("rank", 1), ("nearer", 0), ("tied", 1), ("image", -1))}
    good_ranks = GoodRanks(n_good=per_query.n_good, n_junk=per_query.n_junk, **columns)
    for text, bad in _contradictions(good_ranks, n_gallery):
        if bad.any():
            raise InputError(ranks.where, got=f"{text}, which entry {int(np.argmax(bad))} is not")
    return good_ranks


def _contradictions(ranks: GoodRanks, n_gallery: int) -> Iterator[tuple[str, Any]]:
    """Yield what must hold of every entry, and where it does not."""
    query, rank, nearer = ranks.query, ranks.rank, ranks.nearer
    yield "found: expected no more than the query's n_good", ranks.found > ranks.n_good
    yield "rank: expected at most the query's n_kept", rank > ranks.n_kept[query]
    yield "rank: expected ascending ranks of each query", np.append(
        False, (np.diff(query) == 0) & (np.diff(rank) <= 0))
    yield "nearer: expected less than rank, and at least rank - tied", (
        (nearer >= rank) | (nearer + ranks.tied < rank))
    yield "image: expected a number below that of gallery images", ranks.image >= n_gallery


def _counts(counts: _Values) -> Counts:
    numbers: dict[str, Any] = {field.name: counts.count(field.name) for field in fields(Counts)
                               if field.name != "status"}
    for name, number in numbers.items():
        if name.startswith("gallery_") and number > numbers["gallery"]:
            raise InputError(counts.where, got=f"{name}: expected at most {numbers['gallery']}, "
                             f"the gallery, got {number}")
    status = _Values(counts.values.get("status"), f"{counts.where}: status")
    return Counts(**numbers, status={name: status.count(name) for name in STATUSES})


#: What may be the value of the choices that are no text alone.
_NUMBERS: dict[str, Callable[[Any], bool]] = {
    "top_k": lambda value: value is None or is_whole(value),
    "cmc_length": lambda value: isinstance(value, str) or is_whole(value)}


def _convention(choices: _Values) -> Convention:
    values: dict[str, Any] = {}
    for field in fields(Convention):
        if isinstance(field.default, tuple):
            values[field.name] = tuple(choices.list_of(field.name, {str}))
        else:
            fits = _NUMBERS.get(field.name, lambda value: isinstance(value, str))
            values[field.name] = choices.value(field.name, fits)
    try:
        return Convention(**values)
    except InputError as error:
        raise InputError(choices.where, got=error) from None
