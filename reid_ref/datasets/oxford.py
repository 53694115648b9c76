"""Oxford Buildings: ranked lists of names and their average precision, as compute_ap gives it.

Aim: the digits that the benchmark's own program prints, for one query or for a whole
folder of them.

Conventions: positive are the names of the good and the ok list together; junk names are
skipped, also if they are positive too. A positive that the ranked list lacks still counts
in recall. Trapezoids over every kept place, beginning at recall 0 and precision 1, in single
precision. A name is a line of a file, byte for byte: blanks at its end and a carriage return
belong to it.

Source: James Philbin's compute_ap.cpp, Oxford Buildings Dataset; Philbin et al., Object
retrieval with large vocabularies and fast spatial matching, CVPR 2007.
"""
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from reid_ref.arrays import InputError, RankedListWarning, in_a_line, warn
from reid_ref.disk import check_regular

#: The lists that make a query's ground truth: PREFIX_good.txt and so on.
LISTS = ("good", "ok", "junk")


def oxford_average_precision(positive: Collection[str], junk: Collection[str],
                             ranked: Sequence[str]) -> np.float32:
    """Average precision of one ranked list, in the single precision of compute_ap.

    Parameters
    ----------
    positive : collection of str
        Names of the images that should be found; repeated names count once.
    junk : collection of str
        Names that are skipped as if they were not in the list.
    ranked : sequence of str
        Names from the nearest on. It may be cut anywhere. A name that comes twice is counted
        twice, as compute_ap does.

    Returns
    -------
    float32
        In [0, 1], if no positive name comes twice. 0 for a list without a positive name.

    Raises
    ------
    InputError
        No positive name (compute_ap divides 0 by 0), or a string instead of names.

    Notes
    -----
    James Philbin's compute_ap.cpp; Philbin et al., CVPR 2007.

    Examples
    --------
    Three of five names are found, with a junk name that changes nothing:

    >>> ap = oxford_average_precision(set("abcde"), {"j"}, ["a", "j", "x", "b", "c"])
    >>> ap.dtype, six_digits(ap)
    (dtype('float32'), '0.458333')
    """
    for name, value in (("positive", positive), ("junk", junk), ("ranked", ranked)):
        if isinstance(value, (str, bytes)):
            raise InputError(
                name, "a list or set of names", f"the one string {value!r}", "put it in a list")
    wanted, skipped = set(positive), set(junk)
    if not wanted:
        raise InputError("positive", "at least one name", "none", "recall would be 0/0")
    kept = [name for name in ranked if name not in skipped]
    # Recall does not change at a wrong answer, which adds exactly 0: only hits are summed.
    n_positive = np.float32(len(wanted))
    ap: np.float32 = np.float32(0)
    old_recall: np.float32 = np.float32(0)
    places = [place for place, name in enumerate(kept) if name in wanted]
    for hits, place in enumerate(places, 1):
        recall = np.float32(hits) / n_positive
        precision = np.float32(hits / (place + 1))
        old_precision = np.float32((hits - 1) / place if place else 1)
        # As in C++: halving, product and sum are double, and what is stored is float.
        ap = np.float32(float(ap) + float(recall - old_recall)
                        * (float(old_precision + precision) / 2))
        old_recall = recall
    return ap


def six_digits(value: float | np.float32) -> str:
    """Return a number as C++ prints it to a stream: 6 significant digits, no zeros at the end.

    Examples
    --------
    >>> six_digits(0.0181624), six_digits(1.0), six_digits(1e-5)
    ('0.0181624', '1', '1e-05')
    """
    return f"{float(value):.6g}"


def evaluate_query(prefix: str | Path, ranked_list: str | Path) -> np.float32:
    """Average precision of one query from its files.

    Parameters
    ----------
    prefix : str or Path
        The ground truth is PREFIX_good.txt, PREFIX_ok.txt and PREFIX_junk.txt.
    ranked_list : str or Path
        One name per line, the nearest first.

    Returns
    -------
    float32

    Raises
    ------
    InputError
        A file is missing (the message names it), is a folder, or good and ok list hold no name.

    Warns
    -----
    RankedListWarning
        The ranked list is empty, holds a name twice, or its names are spelled otherwise than
        those of the ground truth. The number is compute_ap's all the same.
    """
    good, ok, junk = _ground_truth(Path(prefix))
    ranked = _read_names(Path(ranked_list), "ranked list")
    if not good | ok:
        raise InputError(f"{prefix}_good.txt, {prefix}_ok.txt", "at least one name", "none",
                         "recall would be 0/0")
    _warn_about(Path(ranked_list), ranked, good | ok)
    return oxford_average_precision(good | ok, junk, ranked)


def evaluate_folder(ground_truth: str | Path, ranked: str | Path) -> dict[str, np.float32]:
    """Average precision of every query of a ground truth folder.

    Parameters
    ----------
    ground_truth : str or Path
        Folder of NAME_good.txt, NAME_ok.txt and NAME_junk.txt. What else is in it is not read.
    ranked : str or Path
        Folder with one ranked list for each NAME: NAME.txt or NAME_ANYTHING.txt. Other files
        are not read. It may be the same folder.

    Returns
    -------
    dict of str to float32
        NAME to its average precision, sorted by name. `mean_average_precision` of it is mAP.

    Raises
    ------
    InputError
        Not folders, no query, a query without a ranked list or with two.
    """
    ground_truth, ranked = Path(ground_truth), Path(ranked)
    for folder in (ground_truth, ranked):
        if not folder.is_dir():
            raise InputError(
                folder, "a folder", "a file" if folder.exists() else "nothing of that name")
    names = sorted({path.name[:-len(f"_{kind}.txt")] for kind in LISTS
                    for path in ground_truth.glob(f"*_{kind}.txt")})
    if not names:
        raise InputError(
            ground_truth, "files NAME_good.txt, NAME_ok.txt and NAME_junk.txt", "none")
    lists = _lists_by_query(names, ranked)
    return {name: evaluate_query(ground_truth / name, lists[name]) for name in names}


def mean_average_precision(average_precisions: dict[str, np.float32]) -> float:
    """mAP: the mean of the unrounded APs of all queries, added in order in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> mean_average_precision({"a": np.float32(0.5), "b": np.float32(0.25)})
    0.375
    """
    if not average_precisions:
        raise InputError("average_precisions", "at least one query", "none")
    return sum(float(ap) for ap in average_precisions.values()) / len(average_precisions)


def _ground_truth(prefix: Path) -> list[set[str]]:
    paths = [prefix.with_name(f"{prefix.name}_{kind}.txt") for kind in LISTS]
    if missing := [path.name for path in paths if not path.exists()]:
        remedy = ("a prefix ends before _good.txt" if len(missing) == 3
                  else "an empty file stands for an empty list")
        raise InputError(prefix, "files ending in _good.txt, _ok.txt and "
                         f"_junk.txt, missing: {in_a_line(missing)}", remedy=remedy)
    return [set(_read_names(path, "ground truth list")) for path in paths]


def _read_names(path: Path, what: str) -> list[str]:
    try:
        check_regular(path)
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except IsADirectoryError:
        raise InputError(path, f"a {what}, one name per line", "a folder",
                         "give a file, or folders for both arguments") from None
    except OSError as error:
        raise InputError(path, got=f"the {what} cannot be read: {error.strerror}") from None
    return text.removesuffix("\n").split("\n") if text else []


def _lists_by_query(names: list[str], folder: Path) -> dict[str, Path]:
    """Give each query its file; a file belongs to the longest name that it begins with."""
    by_query: dict[str, list[Path]] = {name: [] for name in names}
    truth = {f"{name}_{kind}.txt" for name in names for kind in (*LISTS, "query")}
    for path in sorted(path for path in folder.glob("*.txt") if path.name not in truth):
        if owners := [name for name in names if f"{path.stem}_".startswith(f"{name}_")]:
            by_query[max(owners, key=len)].append(path)
    missing = [name for name in names if not by_query[name]]
    if len(missing) == len(names):
        raise InputError(folder, f"ranked lists {names[0]}.txt or {names[0]}_ANYTHING.txt, and so "
                         "on for every query of the ground truth", "none")
    if missing:
        raise InputError(
            folder, got=f"no ranked list for {len(missing)} of {len(names)} queries "
            f"({', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''})",
            remedy="mAP is over all of them: an empty file stands for a query that found nothing")
    for name, paths in by_query.items():
        if len(paths) > 1:
            raise InputError(folder, f"one ranked list for {name}",
                             ", ".join(path.name for path in paths), "keep one of them here")
    return {name: paths[0] for name, paths in by_query.items()}


def _warn_about(path: Path, ranked: list[str], positive: set[str]) -> None:
    if not ranked:
        warn(f"{path}: the ranked list is empty; its AP is 0", RankedListWarning)
    if repeated := [name for name, count in Counter(ranked).items() if count > 1]:
        warn(f"{path}: {len(repeated)} names come more than once (first: {repeated[0]!r}); each "
             "time counts, as in compute_ap; a ranked list should hold every image once",
             RankedListWarning)
    if positive.isdisjoint(ranked):
        plain = {Path(name.strip()).stem for name in positive}
        if alike := [name for name in ranked if Path(name.strip()).stem in plain]:
            warn(f"{path}: names are spelled otherwise than in the ground truth: {alike[0]!r} is "
                 "not in it but for blanks, folder or extension; as in compute_ap it is a wrong "
                 "answer", RankedListWarning)
