"""A result on disk: the form, its version, its writer and its reader.

A file keeps what cannot be computed again: ranks, the labels of the queries, statuses, counts. All
else follows from them when it is read, and is compared with what the writer printed.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from operator import index
from typing import Any, NamedTuple

import numpy as np

from reid_ref._version import __version__
from reid_ref.arrays import InputError, check_choice, errors_at, warn
from reid_ref.arrays.memory import check_fits
from reid_ref.conventions import CHOICES, Convention, is_only_ignored
from reid_ref.disk import PathLike, path_of, read_lines, unique, whole_files
from reid_ref.labels import DISTRACTOR, JUNK, fingerprint
from reid_ref.measures import printed
from reid_ref.ranking.good_ranks import RAGGED, GoodRanks
from reid_ref.result import RANKS, STATUSES, Counts, Fingerprint, Fingerprints, Result, headline
from reid_ref.result.made import Asked, Images, not_loaded, of_ranks
from reid_ref.result.means import AVERAGES, Expectation, TrialsResult, of_chances, over_trials
from reid_ref.result.systems import check_same_convention
from reid_ref.signature import (
    Signature, distance_of, fields_of, off_its_name, parse_signature)
from reid_ref.text.plain import plain

#: The version of the form; another one cannot be read.
SAVED = 3
#: What is read here, for messages.
EXPECTED = "what reid-ref evaluate FILE --save OUT.json or Result.save wrote"
#: How far what is computed may be off what the writer printed, by the convention's arithmetic.
NEAR = {"double": 1e-12, "float32": 1e-6}


class Kind(NamedTuple):
    """What a JSON value may be, in words and as a check."""

    words: str
    fits: Callable[[Any], bool]


_TEXT = Kind("text", lambda value: type(value) is str)
_WHOLE = Kind("whole numbers below 2**63",
              lambda value: type(value) is int and -2**63 <= value < 2**63)
_COUNT = Kind("whole numbers from 0, below 2**63",
              lambda value: type(value) is int and 0 <= value < 2**63)
_CRC = Kind("eight hexadecimal digits, or nothing", lambda value: type(value) is str and bool(
    re.fullmatch("([0-9a-f]{8})?", value)))
_STATUS = Kind(f"one of {', '.join(STATUSES)}", lambda value: type(value) is str and (
    value in STATUSES or is_only_ignored(value)))
# Not above the bound: NaN, infinity, and what no double holds.
_NUMBER = Kind("numbers or null", lambda value: value is None or (
    type(value) in (int, float) and abs(value) < 2**63))
# layumi's sum of 1/n can be above 1 by its last bits.
_SHARE = Kind("numbers from 0 to 1", lambda value: type(value) in (int, float) and (
    0 <= value <= 1 + 1e-9))
_CURVE = Kind("numbers from 0 to 1, or null", lambda value: value is None or _SHARE.fits(value))
_LIST = Kind("a list", lambda value: type(value) is list)
_OBJECT = Kind("an object", lambda value: type(value) is dict)

#: The columns of the queries, with an entry for each.
QUERIES = {"identity": _WHOLE, "camera": _WHOLE, "status": _STATUS}
#: The columns of the ranks: those of `GoodRanks`.
OF_RANKS = {name: _WHOLE if name == "image" else _COUNT for name in GoodRanks.__dataclass_fields__}
#: What an expectation has in their place, of each query with a good image; `match` row after row.
OF_CHANCES = {"reciprocal": _SHARE, "weight": _SHARE, "match": _SHARE}
#: What every file has, one of a single result, and one of a mean over trials.
_EVERY = ("schema", *printed(RANKS), "signature")
_ONE = (*_EVERY, "convention", "labels", "counts", "queries", "cmc", "cmc_length", "ranks",
        "expected")
_TRIALS = (*_EVERY, "average", "trials")


def write(result: Result, path: PathLike) -> None:
    """Write all of a result to one JSON file, whole or not at all."""
    lines = (f" {json.dumps(key)}: {json.dumps(value, allow_nan=False, default=index)}"
             for key, value in _values_of(result).items())
    text = ",\n".join(lines)
    with whole_files(path) as (file,):
        file.write(f"{{\n{text}\n}}\n")


def _values_of(result: Result) -> dict[str, Any]:
    """Return what a file has, by key."""
    every = {"schema": SAVED, **plain(headline(result)), "signature": str(result.signature)}
    if isinstance(result, TrialsResult):
        return {**every, "average": result.average, "trials": list(map(_values_of, result.trials))}
    values = {
        **every, "convention": plain(result.convention), "labels": plain(result.fingerprints),
        "counts": plain(result.counts),
        "queries": {name: getattr(result.per_query, name).tolist() for name in QUERIES}}
    if isinstance(result, Expectation):
        return {**values, "expected": plain({
            "reciprocal": result.per_query.ap[result.per_query.matched], "weight": result.weight,
            "match": result.match.ravel(), "sd": result.draws})}
    # The curve, if the ranks do not give it.
    curve = ({"cmc": plain(result.cmc)} if result.convention.curve.of_rows else
             {"cmc_length": len(result.cmc)})
    return {**values, **curve,
            "ranks": {name: getattr(result.ranks, name).tolist() for name in OF_RANKS}}


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
    unknown: list[str] = []
    file = Values(_read_object(path), str(path), unknown)
    result = _as_printed(file, _of_trials(file) if "trials" in file.values else _of_one(file))
    if unknown:
        version = result.signature["reid-ref"]
        warn(f"{path}: {', '.join(dict.fromkeys(unknown))}: skipped, since reid-ref {version} "
             f"wrote it and this is {__version__}")
    for text in off_its_name(result.signature):
        warn(f"{path}: {text}")
    return result


def _read_object(path: PathLike) -> dict[str, Any]:
    """Return the object of a JSON file, whose version is this one."""
    try:
        value = json.loads("\n".join(read_lines(path_of(path), EXPECTED)),
                           object_pairs_hook=partial(unique, path, "key"))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(path, got=f"cannot be read as JSON ({error})",
                         remedy=f"expected {EXPECTED}") from None
    if not isinstance(value, dict):
        raise InputError(path, f"one JSON object, {EXPECTED}")
    if "detection_box" in value:
        raise InputError(path, EXPECTED, "boxes, as for person search", "evaluate them by "
                         "their protocol: reid-ref evaluate FILE --protocol cuhk-sysu; `reid-ref "
                         "protocols` lists all")
    schema = value.get("schema")
    summary = "signature" in value and not {"queries", "trials"} & value.keys()
    if summary or type(value.get("queries")) is list:
        raise InputError(path, EXPECTED, "what another option wrote", "--save keeps what commands "
                         "need, the ranks: reid-ref evaluate FILE --save OUT.json")
    if schema != SAVED or type(schema) is not int:
        newer = type(schema) is int and schema > SAVED
        raise InputError(f"{path}: schema", f"{SAVED}, {EXPECTED}",
                         "none" if schema is None else _shown(schema),
                         "take a newer reid-ref" if newer else "save the result anew")
    return value


def _shown(value: Any) -> str:
    """Return the beginning of a JSON value, for messages."""
    return json.dumps(value)[:40]


class Values(NamedTuple):
    """An object of a file, whose values are checked as they are read.

    Parameters
    ----------
    values : dict
    where : str
        The file, and the way to the object.
    unknown : list of str
        Keys that were skipped.
    """

    values: Any
    where: str
    unknown: list[str]

    def value(self, key: str, kind: Kind) -> Any:
        """Return the value of a key."""
        if key not in self.values or not kind.fits(self.values[key]):
            raise InputError(f"{self.where}: {key}", kind.words,
                             _shown(self.values[key]) if key in self.values else "none",
                             f"the file is not {EXPECTED}, or it is damaged")
        return self.values[key]

    def of(self, known: Any) -> Values:
        """Return it, once keys that are not known are noted."""
        self.unknown.extend(key for key in self.values if key not in known)
        return self

    def inside(self, key: str, known: Any) -> Values:
        """Return the object that is the value of a key."""
        return Values(self.value(key, _OBJECT), f"{self.where}: {key}", self.unknown).of(known)

    def column(self, key: str, kind: Kind, n: int | None = None) -> list[Any]:
        """Return a list of such values, `n` of them."""
        values: list[Any] = self.value(key, _LIST)
        if n is not None and len(values) != n:
            raise InputError(f"{self.where}: {key}", f"{n} values", len(values),
                             "is the file complete?")
        if set(map(type, values)) == {int} and kind.fits(min(values)) and kind.fits(max(values)):
            return values  # the common case, and the quick one
        for k, value in enumerate(values):
            if not kind.fits(value):
                raise InputError(f"{self.where}: {key}", kind.words,
                                 f"{_shown(value)} in entry {k}")
        return values


def _as_printed(file: Values, result: Result) -> Result:
    """Return the result, whose numbers must be those that its writer printed."""
    near = NEAR[result.convention.arithmetic]
    for name, value in headline(result).items():
        written = np.array(file.value(name, _NUMBER), np.float64)
        if not np.isclose(written, value, rtol=0, atol=near, equal_nan=True):
            raise _contradiction(file, name, value, file.values[name])
    return result


def _contradiction(file: Values, name: str, expected: Any, got: Any) -> InputError:
    return InputError(f"{file.where}: {name}", f"{expected}, as the rest of the file gives",
                      got, "save the result anew")


def _of_trials(file: Values) -> Result:
    """Return the mean over the trials that a file has, each one a saved result."""
    values = file.of(_TRIALS).column("trials", _OBJECT)
    if not values:
        raise InputError(f"{file.where}: trials", EXPECTED, "none")
    check_choice(file.value("average", _TEXT), f"{file.where}: average", AVERAGES)
    trials = [Values(trial, f"{file.where}: trial {k}", file.unknown)
              for k, trial in enumerate(values, 1)]
    results = {trial.where: _as_printed(trial, _of_one(trial)) for trial in trials}
    check_same_convention(results)
    first, *_ = results.values()
    return over_trials([*results.values()], file.values["average"],
                       _signature(file, first.convention))


def _of_one(file: Values) -> Result:
    queries = file.of(_ONE).inside("queries", QUERIES)
    status = queries.column("status", _STATUS)
    n = len(status)
    identity, camera = (np.array(queries.column(name, QUERIES[name], size), np.int64)
                        for name, size in (("identity", n), ("camera", n if queries.values.get(
                            "camera") else 0)))
    counts = file.inside("counts", Counts.__dataclass_fields__)
    images = Images(*(counts.value(name, _COUNT) for name in (
        "gallery", "gallery_junk", "gallery_distractors")))
    convention = _convention(file)
    signature = _signature(file, convention)
    names = (*STATUSES, *status)
    asked = Asked(np.array(status, dtype=f"<U{max(map(len, names))}"), identity, camera)
    labels = file.inside("labels", Fingerprints._fields)
    fingerprints = Fingerprints(*(
        Fingerprint(*(labels.inside(side, Fingerprint._fields).value(column, _CRC)
                      for column in Fingerprint._fields)) for side in Fingerprints._fields))
    of = _of_expectation if "expected" in file.values else _of_ranks
    result = of(file, asked, images, convention, signature, fingerprints)
    _check_images(file, counts, result)
    return result


def _of_ranks(file: Values, asked: Asked, images: Images, *signed: Any) -> Result:
    """Return the result of ranks, which must be possible."""
    columns = file.inside("ranks", OF_RANKS)
    n_ranked = sum(columns.column("found", _COUNT))
    ranks = GoodRanks(**{name: np.array(columns.column(
        name, kind, n_ranked if name in RAGGED else len(asked.status)), np.int64)
        for name, kind in OF_RANKS.items()})
    convention, signature = signed[:2]
    length = (len(file.column("cmc", _CURVE)) if convention.curve.of_rows else
              file.value("cmc_length", _COUNT))
    if length > images.gallery:
        raise InputError(f"{file.where}: cmc_length", f"at most {images.gallery}", length)
    check_fits(16 * images.gallery, f"{file.where}: counts: gallery", "curves of that length",
               "is the file damaged?")
    for text, bad in _impossible(ranks, asked, images, convention, signature):
        if bad.any():
            raise InputError(columns.where, got=f"{text}, unlike entry {int(np.argmax(bad))}")
    curve = (np.array(file.values["cmc"], np.float64) if convention.curve.of_rows else None)
    return of_ranks(
        ranks, lambda cut: convention.curve_of_ranks(cut, length) if curve is None else curve,
        asked, images, *signed)


def _impossible(ranks: GoodRanks, asked: Asked, images: Images, convention: Convention,
                signature: Signature) -> Iterator[tuple[str, Any]]:
    """Yield what must hold of every entry, and where it does not."""
    query, rank, nearer, image = ranks.query, ranks.rank, ranks.nearer, ranks.image
    yield "found: expected no more than the query's n_good", ranks.found > ranks.n_good
    yield "rank: expected at most the query's n_kept", rank > ranks.n_kept[query]
    yield "rank: expected ascending ranks of each query", np.append(
        False, (np.diff(query) == 0) & (np.diff(rank) <= 0))
    yield "nearer: expected less than rank, and at least rank - tied", (
        (nearer >= rank) | (nearer + ranks.tied < rank))
    yield "tied: expected at most n_kept - nearer", nearer + ranks.tied > ranks.n_kept[query]
    yield "first_match: expected at most n_kept, and 0 without a good image", (
        (ranks.first_match > ranks.n_kept) | (ranks.first_match > 0) & (ranks.n_good == 0))
    yield "status: expected a reason, not ok, without a good image", (
        (asked.status == "ok") & (ranks.n_good == 0))
    yield "image: expected a number below that of gallery images", (
        (image < -1) | (image >= images.gallery))
    n_loaded = images.gallery - not_loaded(convention, images.junk)
    of_query = np.where(asked.status == "not loaded", 0, n_loaded)
    n_images = ranks.n_kept + ranks.n_junk
    # A query that is not answered keeps none, and a list keeps only the images that it holds.
    is_whole = signature.get("ranked", "complete") == "complete"
    yield "n_kept + n_junk: expected the gallery images", (n_images > of_query) | (
        (n_images < of_query) & (ranks.n_kept > 0) & is_whole)
    named = image >= 0
    query, image = query[named], image[named]
    order = np.lexsort((image, query))
    yield "image: expected each image once for a query", (
        np.diff(query[order]) == 0) & (np.diff(image[order]) == 0)
    if not convention.needs_lists:  # which may name any image
        shown = asked.identity[query]
        order = np.lexsort((shown, image))
        yield "image: expected images of one identity each", (
            np.diff(image[order]) == 0) & (np.diff(shown[order]) != 0)
        n_good = len(np.unique(image[shown != JUNK]))
        most = 0 if (asked.identity == DISTRACTOR).any() else (
            images.gallery - images.junk - n_good)
        yield f"gallery_distractors: expected at most {most}", np.array(images.distractors > most)


def _of_expectation(file: Values, asked: Asked, images: Images, convention: Convention,
                    signature: Signature, fingerprints: Fingerprints) -> Result:
    """Return the expectation of chances, each query's in one row."""
    chances = file.inside("expected", (*OF_CHANCES, "sd"))
    n = int(np.count_nonzero(asked.status == "ok"))
    length = len(chances.value("match", _LIST)) // max(n, 1)
    reciprocal, weight, match = (
        np.array(chances.column(name, kind, n * (length if name == "match" else 1)), np.float64)
        for name, kind in OF_CHANCES.items())
    names = printed(k for k in RANKS if k <= length)
    sd = chances.inside("sd", names)
    draws = {name: float(np.float64(sd.value(name, _SHARE))) for name in names}
    if not max(length, 1) <= images.gallery <= int(signature["gallery"]):
        raise InputError(f"{file.where}: counts: gallery", f"{length} to {signature['gallery']} "
                         "identities", images.gallery)
    return of_chances(reciprocal, weight, match.reshape(n, length), draws, asked, images.gallery,
                      convention, signature, fingerprints)


def _check_images(file: Values, counts: Values, result: Result) -> None:
    """Refuse counts and fingerprints that are not those of the ranks and labels."""
    query, gallery = result.counts.loaded
    if isinstance(result, Expectation):  # the images of which its galleries are drawn
        gallery = int(result.signature["gallery"])
    for key, size in (("queries", query), ("gallery", gallery)):
        if int(result.signature[key]) != size:
            raise _contradiction(file, f"signature: {key}", size, result.signature[key])
    for name, computed in plain(result.counts).items():
        written = counts.value(name, _OBJECT if name == "status" else _COUNT)
        if name == "status":
            written, computed = ({key: n for key, n in each.items() if n}
                                 for each in (written, computed))
        if written != computed:
            raise _contradiction(counts, name, computed, _shown(written))
    for column, written in result.fingerprints.query._asdict().items():
        computed = fingerprint(getattr(result.per_query, column))
        if computed and written != computed:
            raise _contradiction(file, f"labels: query: {column}", computed, written)


def _convention(file: Values) -> Convention:
    """Return the convention, which checks its choices itself."""
    choices = file.inside("convention", Convention.__dataclass_fields__)
    for key in ("source", "loader", "base", "measure"):
        choices.value(key, _TEXT)
    for key in ("also", "oddities", "ignored"):
        choices.column(key, _TEXT)
    try:
        return Convention(**{key: value for key, value in choices.values.items()
                             if key in Convention.__dataclass_fields__})
    except (InputError, TypeError) as error:
        raise InputError(choices.where, got=error) from None


def _signature(file: Values, convention: Convention) -> Signature:
    """Return the signature, which must be that of the convention."""
    text = file.value("signature", _TEXT)
    with errors_at(file.where):
        signature = parse_signature(text)
    expected = fields_of(convention)
    measured = distance_of(convention.metric, convention.normalize)
    expected.update((key, value) for key, value in measured.items() if key in signature)
    for key in ("convention", *CHOICES, "top_k", *measured):
        if signature.get(key) != expected.get(key):
            raise InputError(f"{file.where}: signature", f"{key} {expected.get(key)}, as the "
                             "convention has", signature.get(key))
    return signature
