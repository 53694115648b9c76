"""A saved result, read back: each value checked by itself, then against the ranks it is of."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

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
        raise InputError(f"{path}: schema: expected {SAVED}, {EXPECTED}, got the values of each "
                         "query without ranks; save the result anew")
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
        raise InputError(f"{path}: expected JSON, which has the signature, got CSV; write it with "
                         "reid-ref evaluate FILE --per-query OUT.json")
    return _stored(table)


def _stored(table: QueryTable) -> Stored:
    result = table.result
    if result is not None:
        return Stored(**vars(table), fields=result.signature, convention=result.convention)
    try:
        fields = parse_signature(table.numbers["signature"])
        return Stored(**vars(table), fields=fields, convention=convention_of(fields))
    except InputError as error:
        raise InputError(f"{table.path}: {error}") from None


def _signature(text: str, convention: Convention, path: str) -> Signature:
    """Return the signature of a saved result, which must be that of its convention."""
    try:
        signature = parse_signature(text, convention.name)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    expected = fields_of(convention)
    for key in ("convention", *CHOICES, "top_k"):
        if signature.get(key) != expected.get(key):
            raise InputError(f"{path}: signature: expected {key} {expected.get(key)}, as the "
                             f"convention has, got {signature.get(key)}")
    return signature


def _check_sound(stored: Stored) -> None:
    """Refuse numbers that contradict each other by more than arithmetic explains."""
    for check in checks(stored):
        if not check.agrees and not _is_near(check.written, check.found):
            raise InputError(f"{stored.path}: {check.name}: contradicts what the {check.source} "
                             "give; see reid-ref verify, or save the result anew")


def _is_near(written: Any, found: Any) -> bool:
    try:
        one, other = (np.array(value, dtype=np.float64) for value in (written, found))
    except (TypeError, ValueError):
        return False
    return one.shape == other.shape and np.allclose(one, other, 0, NEAR, equal_nan=True)


def _saved(value: dict[str, Any], path: str) -> QueryTable:
    """Return the table and the result of a saved file, each value checked by itself."""
    for key in ("parts", "trials"):
        if key in value:
            raise InputError(f"{path}: {key}: expected no such key, which is reserved for results "
                             "of several parts or trials; take a newer reid-ref")
    queries, ranks, convention, counts, labels = (
        value_of(value, key, lambda one: isinstance(one, dict), path, EXPECTED)
        for key in ("queries", "ranks", "convention", "counts", "labels"))
    prints = Fingerprints(*(
        value_of(labels, side, lambda text: isinstance(text, str), f"{path}: labels", EXPECTED)
        for side in Fingerprints._fields))
    per_query, all_counts = _per_query(queries, f"{path}: queries"), _counts(counts, path)
    mean_ap, mean_inp = (_shares({key: [value.get(key, "none")]}, key, path)
                         for key in ("mAP", "mINP"))
    record = _convention(convention, f"{path}: convention")
    result = Result(
        mAP=float(mean_ap[0]), cmc=_shares(value, "cmc", path), mINP=float(mean_inp[0]),
        per_query=per_query, counts=all_counts,
        counted=value_of(value, "counted", _is_count, path, EXPECTED),
        signature=_signature(value["signature"], record, path), convention=record,
        ranks=_ranks(ranks, per_query, all_counts.gallery, f"{path}: ranks"), fingerprints=prints)
    counted = _list(queries, "counted", {bool}, f"{path}: queries", len(per_query.status))
    return QueryTable(path, value, per_query, np.array(counted), result)


def _per_query(queries: Mapping[str, Any], where: str) -> PerQuery:
    status = _list(queries, "status", {str}, where)
    for k, name in enumerate(status):
        if name not in STATUSES:
            raise InputError(f"{where}: status: expected one of {', '.join(STATUSES)}, got "
                             f"{shown(name)} in entry {k}")
    n = len(status)
    first = [0 if rank is None else rank
             for rank in _list(queries, "first_match", {int, type(None)}, where, n)]
    return PerQuery(
        ap=_shares(queries, "ap", where, n), inp=_shares(queries, "inp", where, n),
        first_match=_integers({"first_match": first}, "first_match", where, n, 0),
        n_good=_integers(queries, "n_good", where, n, 0),
        n_junk=_integers(queries, "n_junk", where, n, 0),
        status=np.array(status, dtype=f"<U{max(map(len, STATUSES))}"),
        identity=_integers(queries, "identity", where, n),
        camera=_integers(queries, "camera", where, n if queries.get("camera") else 0))


def _ranks(ranks: Mapping[str, Any], per_query: PerQuery, n_gallery: int,
           where: str) -> GoodRanks:
    columns = {name: _integers(ranks, name, where, len(per_query.status), 0)
               for name in ("found", "n_kept", "first_match")}
    columns |= {name: _integers(ranks, name, where, int(columns["found"].sum()), least)
                for name, least in (("rank", 1), ("nearer", 0), ("tied", 1), ("image", -1))}
    found = GoodRanks(n_good=per_query.n_good, n_junk=per_query.n_junk, **columns)
    for text, bad in _contradictions(found, n_gallery):
        if bad.any():
            raise InputError(f"{where}: {text}, which entry {int(np.argmax(bad))} is not")
    return found


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


def _counts(counts: Mapping[str, Any], path: str) -> Counts:
    def count(values: Any, key: str, where: str) -> int:
        return int(value_of(values, key, _is_count, f"{path}: {where}", EXPECTED))
    found: dict[str, Any] = {one.name: count(counts, one.name, "counts")
                             for one in fields(Counts) if one.name != "status"}
    for name, number in found.items():
        if name.startswith("gallery_") and number > found["gallery"]:
            raise InputError(f"{path}: counts: {name}: expected at most {found['gallery']}, the "
                             f"gallery, got {number}")
    return Counts(**found, status={
        name: count(counts.get("status"), name, "counts: status") for name in STATUSES})


#: What may stand for the choices that are no text alone.
_NUMBERS: dict[str, Callable[[Any], bool]] = {
    "top_k": lambda value: value is None or is_whole(value),
    "cmc_length": lambda value: isinstance(value, str) or is_whole(value)}


def _convention(values: Mapping[str, Any], where: str) -> Convention:
    found: dict[str, Any] = {}
    for one in fields(Convention):
        if isinstance(one.default, tuple):
            found[one.name] = tuple(_list(values, one.name, {str}, where))
            continue
        fits = _NUMBERS.get(one.name, lambda value: isinstance(value, str))
        found[one.name] = value_of(values, one.name, fits, where, EXPECTED)
    try:
        return Convention(**found)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _list(values: Mapping[str, Any], key: str, kinds: set[type], where: str,
          n: int | None = None) -> list[Any]:
    """Return a list of values of these types, `n` of them."""
    found: list[Any] = value_of(values, key, lambda one: isinstance(one, list), where, EXPECTED)
    if n is not None and len(found) != n:
        raise InputError(f"{where}: {key}: expected {n} values, got {len(found)}; is the file "
                         "complete?")
    if not set(map(type, found)) <= kinds:
        k = next(k for k, one in enumerate(found) if type(one) not in kinds)
        words = " or ".join(sorted("null" if kind is type(None) else kind.__name__
                                   for kind in kinds))
        raise InputError(f"{where}: {key}: expected {words}, got {shown(found[k])} in entry {k}")
    return found


def _integers(values: Mapping[str, Any], key: str, where: str, n: int,
              least: int = -2**63) -> Integers:
    """Return whole numbers, none of them below `least`."""
    found = _list(values, key, {int}, where, n)
    lowest, highest = min(found, default=least), max(found, default=least)
    if lowest < least or highest >= 2**63:
        raise InputError(f"{where}: {key}: expected whole numbers from {least}, below 2**63, got "
                         f"{lowest if lowest < least else highest}")
    return np.array(found, dtype=np.int64)


def _shares(values: Mapping[str, Any], key: str, where: str, n: int | None = None) -> Doubles:
    """Return numbers from 0 to 1; NaN where the file has null."""
    found = _list(values, key, {float, int, type(None)}, where, n)
    for k, one in enumerate(found):
        if one is not None and not 0 <= one <= 1 + NEAR:
            raise InputError(f"{where}: {key}: expected numbers from 0 to 1, got {shown(one)} in "
                             f"entry {k}")
    return np.array([np.nan if one is None else one for one in found], dtype=np.float64)


def _is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0
