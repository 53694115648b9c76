"""A saved result, read: all that is not in the file is computed from its ranks."""
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reid_ref._version import __version__
from reid_ref.arrays import (
    Array, Doubles, InputError, Mask, SavedWarning, check_choice, errors_at, warn)
from reid_ref.arrays.memory import check_fits
from reid_ref.arrays.texts import text_array
from reid_ref.conventions import CHOICES, Convention
from reid_ref.disk import PathLike
from reid_ref.labels import DISTRACTOR, JUNK, Labels, fingerprint
from reid_ref.measures import COLUMNS, RANKS, printed
from reid_ref.ranking.good_ranks import RAGGED, GoodRanks, first_ranks, of_queries
from reid_ref.result import Result, form, headline
from reid_ref.result.parts import STATUSES, Counts, Checksums, Fingerprints
from reid_ref.result.form import EXPECTED, Values
from reid_ref.result.formula import numbers
from reid_ref.result.made import Asked, GalleryCounts, not_loaded, of_numbers
from reid_ref.result.means import AVERAGES, Expectation, of_chances, over_trials
from reid_ref.result.systems import check_same_convention
from reid_ref.signature import Signature, distance_of, fields_of, off_its_name, parse_signature
from reid_ref.text.plain import json_values

#: How far what is computed may be off what the writer printed, by the convention's arithmetic.
NEAR = {"double": 1e-12, "float32": 1e-6}


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
    file = form.read_values(path)
    result = _as_printed(file, (_of_trials if "trials" in file.values else _of_one)(file))
    if file.unknown:
        version = result.signature["reid-ref"]
        keys = ", ".join(dict.fromkeys(file.unknown))
        warn(f"{path}: {keys}: skipped, since reid-ref {version} wrote it and this is "
             f"{__version__}", SavedWarning)
    for text in off_its_name(result.signature):
        warn(f"{path}: {text}", SavedWarning)
    return result


def _as_printed(file: Values, result: Result) -> Result:
    """Return the result, whose numbers must be those that its writer printed."""
    near = NEAR[result.convention.arithmetic]
    for name, value in headline(result).items():
        written = np.array(file.value(name, form.NUMBER), np.float64)
        if not np.isclose(written, value, rtol=0, atol=near, equal_nan=True):
            raise _contradiction(file, name, value, file.values[name])
    return result


def _contradiction(file: Values, name: str, expected: Any, got: Any) -> InputError:
    return InputError(f"{file.where}: {name}", f"{expected}, as the rest of the file gives",
                      got, "save the result anew")


def _of_trials(file: Values) -> Result:
    """Return the mean over the trials that a file has, each one a saved result."""
    values = file.of(form.TRIALS).column("trials", form.OBJECT)
    if not values:
        raise InputError(f"{file.where}: trials", EXPECTED, "none")
    check_choice(file.value("average", form.TEXT), f"{file.where}: average", AVERAGES)
    trials = [Values(trial, f"{file.where}: trial {k}", file.unknown)
              for k, trial in enumerate(values, 1)]
    results = {trial.where: _as_printed(trial, _of_one(trial)) for trial in trials}
    check_same_convention(results)
    first, *_ = results.values()
    return over_trials([*results.values()], file.values["average"],
                       _signature(file, first.convention))


def _of_one(file: Values) -> Result:
    queries = file.of(form.ONE).inside("queries", form.QUERIES)
    status = queries.column("status", form.STATUS)
    n = len(status)
    identity, camera = (_labels(queries, name, n) for name in ("identity", "camera"))
    counts = file.inside("counts", (*Counts.__dataclass_fields__, *form.PAIRS))
    images = GalleryCounts(*(counts.value(name, form.COUNT) for name in (
        "gallery", "gallery_junk", "gallery_distractors")))
    convention = _convention(file)
    signature = _signature(file, convention)
    names = text_array((*STATUSES, *status), f"{file.where}: queries: status")
    asked = Asked.of(Labels(identity, camera if len(camera) else None), names[len(STATUSES):])
    labels = file.inside("labels", Fingerprints._fields)
    fingerprints = Fingerprints(*(
        Checksums(*(labels.inside(side, Checksums._fields).value(column, form.CRC)
                    for column in Checksums._fields)) for side in Fingerprints._fields))
    of = _of_expectation if "expected" in file.values else _of_ranks
    result = of(file, asked, images, convention, signature, fingerprints)
    _check_images(file, counts, result)
    return result


def _labels(queries: Values, name: str, n: int) -> Array:
    """Return a column of labels, numbers or text; that of cameras may be empty."""
    values = queries.values.get(name)
    size = n if values or name == "identity" else 0
    if type(values) is list and values and type(values[0]) is str:
        return text_array(queries.column(name, form.TEXT, size), queries.where)
    return np.array(queries.column(name, form.QUERIES[name], size), np.int64)


def _of_ranks(file: Values, asked: Asked, images: GalleryCounts, convention: Convention,
              signature: Signature, fingerprints: Fingerprints) -> Result:
    """Return the result of ranks, which must be possible."""
    kinds = form.kinds_of_ranks(convention.cut)
    columns = file.inside("ranks", kinds)
    n_ranked = sum(columns.column("found", form.COUNT))
    ranks = GoodRanks(**{name: np.array(columns.column(
        name, kind, n_ranked if name in RAGGED else len(asked.status)), np.int64)
        for name, kind in kinds.items()})
    loaded = asked.status != "not loaded"
    length = (len(file.column("cmc", form.CURVE)) if convention.curve.of_rows else
              file.value("cmc_length", form.COUNT))

    def made(curve: Callable[[GoodRanks], Doubles]) -> Result:
        return of_numbers(numbers(
            ranks, convention, COLUMNS, loaded, curve, matched=asked.status[loaded] == "ok"),
            asked, images, convention, signature, fingerprints)

    if length > images.gallery:
        raise InputError(f"{file.where}: cmc_length", f"at most {images.gallery}", length)
    check_fits(16 * images.gallery, f"{file.where}: counts: gallery", "curves of that length",
               "is the file damaged?")
    for text, bad in _impossible(ranks, asked, images, convention, signature):
        if bad.any():
            raise InputError(columns.where, got=f"{text}, unlike entry {int(np.argmax(bad))}")
    if not convention.curve.of_rows:
        _check_length(file, length, ranks, asked, images, convention, signature)
        return made(lambda cut: convention.curve_of_ranks(cut, length))
    curve = np.array(file.values["cmc"], np.float64)
    _check_rising(file, "cmc", curve[np.newaxis])
    result = made(lambda cut: curve)
    if convention.curve.has_values(1) and length:
        asks = of_queries(ranks, loaded)
        rank1 = convention.curve.curve(first_ranks(asks), 1, convention.n_in_cmc(asks.n_good))
        if not np.array_equal(rank1, curve[:1], equal_nan=True):
            raise _contradiction(file, "cmc", rank1[0], file.values["cmc"][0])
    return result


def _check_rising(file: Values, name: str, curves: Doubles) -> None:
    """Refuse curves, in rows, that fall or are in part unknown."""
    unknown = np.isnan(curves)
    in_part = (unknown.any(axis=1) & ~unknown.all(axis=1)).any()
    if in_part or (np.diff(curves) < -NEAR["double"]).any():
        raise InputError(f"{file.where}: {name}", "a curve that never falls",
                         "one that is null in part" if in_part else "one that does",
                         "save the result anew")


def _check_length(file: Values, length: int, ranks: GoodRanks, asked: Asked,
                  images: GalleryCounts, convention: Convention, signature: Signature) -> None:
    """Refuse another length than that of the curve, but for one of identities."""
    n_loaded = images.gallery - not_loaded(convention, images.junk)
    n_kept = ranks.n_kept[asked.status != "not loaded"]
    longest = signature.get("ranked", "complete").rpartition("-")[2]
    if convention.cmc_length != "identities":
        # Of the labels of a gallery only their number matters.
        expected = convention.curve_length(np.zeros(n_loaded, np.int64), n_kept)
        if longest.isdecimal():
            expected = min(expected, max(int(longest), 1))
        elif "n_good" in signature and longest == "complete" and "ranked" not in signature:
            expected = min(expected, max(int(n_kept.max(initial=0)), 1))
        if length != expected:
            raise _contradiction(file, "cmc_length", expected, length)


def _impossible(ranks: GoodRanks, asked: Asked, images: GalleryCounts, convention: Convention,
                signature: Signature) -> Iterator[tuple[str, Any]]:
    """Yield what must hold of every entry, and where it does not."""
    query, rank, nearer, image = ranks.query, ranks.rank, ranks.nearer, ranks.image
    # A list keeps only the images that it holds.
    is_whole = signature.get("ranked", "complete") == "complete"
    yield "found: expected no more than the query's n_good", ranks.found > ranks.n_good
    yield "rank: expected at most the query's n_kept", rank > ranks.n_kept[query]
    yield "rank: expected ascending ranks of each query", np.append(
        False, (np.diff(query) == 0) & (np.diff(rank) <= 0))
    yield "nearer: expected less than rank, and at least rank - tied", (
        (nearer >= rank) | (nearer + ranks.tied < rank))
    yield "tied: expected at most n_kept - nearer", nearer + ranks.tied > ranks.n_kept[query]
    step = np.diff(nearer)
    yield "nearer: expected other images behind those at one distance, which have one tied", (
        np.append(False, (np.diff(query) == 0) & np.where(
            step == 0, np.diff(ranks.tied) != 0, step < ranks.tied[:-1])))
    # A match that is junk stands behind the kept images before it.
    yield "first_match: expected at most n_kept + 1, and 0 without a good image", (
        (ranks.first_match > ranks.n_kept + 1) | (ranks.first_match > 0) & (ranks.n_good == 0))
    first, may_be_junk = first_ranks(ranks), _may_be_junk(asked, convention)
    yield "first_match: expected the first rank of the query", (
        ranks.first_match != first) & ~may_be_junk
    yield "first_match: expected at most the first rank of the query", (first > 0) & (
        (ranks.first_match > first) | (ranks.first_match == 0))
    yield "n_beyond: expected at most the good images found", ranks.n_beyond > ranks.found
    yield "status: expected 'nothing kept' where no image is, and nowhere else", (
        (ranks.n_kept == 0) != (asked.status == "nothing kept")) & (
            asked.status != "not loaded") & ((asked.status != "ok") | is_whole)
    yield "status: expected a reason, not ok, without a good image", (
        (asked.status == "ok") & (ranks.n_good == 0))
    yield "image: expected a number below that of gallery images", (
        (image < -1) | (image >= images.gallery))
    n_loaded = images.gallery - not_loaded(convention, images.junk)
    of_query = np.where(asked.status == "not loaded", 0, n_loaded)
    n_images = ranks.n_kept + ranks.n_junk
    # A query that is not answered keeps none.
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


def _may_be_junk(asked: Asked, convention: Convention) -> Mask:
    """Return which queries may have a first match that is ignored, and so has no rank."""
    if convention.junk_match == "never" or convention.cut != "after-ignoring":
        return np.zeros(len(asked.status), np.bool_)
    of_label = (asked.identity == JUNK) & ("label -1" in convention.ignored)
    return np.asarray(of_label | convention.needs_lists)


def _of_expectation(file: Values, asked: Asked, images: GalleryCounts, convention: Convention,
                    signature: Signature, fingerprints: Fingerprints) -> Result:
    """Return the expectation of chances, each query's in one row."""
    chances = file.inside("expected", (*form.OF_CHANCES, "sd"))
    n = int(np.count_nonzero(asked.status == "ok"))
    length = len(chances.value("match", form.LIST)) // max(n, 1)
    reciprocal, weight, match = (
        np.array(chances.column(name, kind, n * (length if name == "match" else 1)), np.float64)
        for name, kind in form.OF_CHANCES.items())
    match = match.reshape(n, length)
    _check_rising(chances, "match", match)
    names = printed(k for k in RANKS if k <= length)
    sd = chances.inside("sd", names)
    draws = {name: float(np.float64(sd.value(name, form.SHARE))) for name in names}
    if not max(length, 1) <= images.gallery <= int(signature["gallery"]):
        raise InputError(f"{file.where}: counts: gallery", f"{length} to {signature['gallery']} "
                         "identities", images.gallery)
    return of_chances(reciprocal, weight, match, draws, asked, images.gallery,
                      convention, signature, fingerprints)


def _check_images(file: Values, counts: Values, result: Result) -> None:
    """Refuse counts and fingerprints that are not those of the ranks and labels."""
    query, gallery = result.counts.loaded
    if isinstance(result, Expectation):  # the images of which its galleries are drawn
        gallery = int(result.signature["gallery"])
    for key, size in (("queries", query), ("gallery", gallery)):
        if int(result.signature[key]) != size:
            raise _contradiction(file, f"signature: {key}", size, result.signature[key])
    pairs = {name: n for name, n in result._pairs().items() if name in counts.values}
    for name, computed in {**json_values(result.counts), **pairs}.items():
        written = counts.value(name, form.OBJECT if name == "status" else form.COUNT)
        if name == "status":
            written, computed = ({key: n for key, n in each.items() if n}
                                 for each in (written, computed))
        if written != computed:
            raise _contradiction(counts, name, computed, form.shown(written))
    for column, written in result.fingerprints.query._asdict().items():
        computed = fingerprint(result.per_query.texts(column))
        if computed and written != computed:
            raise _contradiction(file, f"labels: query: {column}", computed, written)


def _convention(file: Values) -> Convention:
    """Return the convention, which checks its choices itself."""
    choices = file.inside("convention", Convention.__dataclass_fields__)
    for key in ("source", "loader", "base", "measure"):
        choices.value(key, form.TEXT)
    for key in ("also", "oddities", "ignored"):
        choices.column(key, form.TEXT)
    try:
        return Convention(**{key: value for key, value in choices.values.items()
                             if key in Convention.__dataclass_fields__})
    except (InputError, TypeError) as error:
        raise InputError(choices.where, got=error) from None


def _signature(file: Values, convention: Convention) -> Signature:
    """Return the signature, which must be that of the convention."""
    text = file.value("signature", form.TEXT)
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
