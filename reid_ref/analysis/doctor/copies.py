"""Features that are bit for bit the same: images twice, means by label, rows not filled."""
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.order import MIN_QUERIES
from reid_ref.analysis.doctor.sample import shares_nearer
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.arrays import Array, Integers
from reid_ref.labels import DISTRACTOR

#: Repeated rows, and rows with the feature of another identity, from which they are reported.
REPEATED, SHARED = 10, 5
#: Share of a side's features that several identities have: label means 0, 256 words 0.03 to 0.6.
SHARED_CODES = 0.01
#: Share of the rows from which repeated ones count in whatever order.
MANY = 0.05
#: What the rows of a side are called.
SIDES = {"query": "queries", "gallery": "gallery images"}
#: Share of wrong pairs that are equal, from which equality means nothing.
COARSE = 1e-3
#: Different distances of a query, below which they are counts, as those of shared neighbours are.
FEW = 64
#: Zero rows that are expected by the share of zeros, from which on they are no finding.
BY_CHANCE = 0.1
#: Columns by which rows that may be equal are found.
COLUMNS = 8


def copies(subject: Subject) -> Iterator[Finding]:
    """Features that are bit for bit the same: one image twice, or a mean made with labels."""
    sample = subject.sample
    query, gallery = subject.features_of(subject.values)
    subject.check_no_codes()
    codes = _row_codes(np.concatenate([query, gallery.astype(query.dtype)]))
    query_code, code = codes[:len(query)], codes[len(query):]
    found = [finding for side, least, of_side, identity in (
        ("gallery", 3, code, subject.gallery.identity[sample.image]),
        ("query", 2, query_code, subject.query.identity[sample.query]))
        for finding in _equal_within_identity(side, least, of_side, identity)]
    yield from found
    if found:
        return
    if len(code) >= MIN_QUERIES and len(np.unique(code)) < len(code) / 2:
        yield tell("duplicate-features", images=len(code), different=len(np.unique(code)))
    same = query_code[:, np.newaxis] == code
    if same[sample.wrong].sum() < COARSE * sample.wrong.sum():
        yield from _query_in_gallery(subject, (same & sample.good).any(axis=1))


def _equal_within_identity(side: str, least: int, code: npt.NDArray[np.intp],
                           identity: Integers) -> Iterator[Finding]:
    """Report identities of `least` images or more on a side whose features are all equal."""
    names, group, size = np.unique(identity, return_inverse=True, return_counts=True)
    different = np.unique(np.stack([group, code], axis=1), axis=0)
    n_different = np.bincount(different[:, 0], minlength=len(names))
    wide = (size >= least) & (names > 0)
    equal = int((wide & (n_different == 1)).sum())
    # Where identities share features as well, as codes of few words, labels do not explain it.
    shared = (np.unique(different[:, 1], return_counts=True)[1] > 1).mean()
    if wide.sum() >= 5 and equal > wide.sum() / 2 and shared <= SHARED_CODES:
        yield tell("equal-within-identity", side, identities=int(wide.sum()), equal=equal)


def _row_codes(rows: Array) -> npt.NDArray[np.intp]:
    """Return one number a row, equal for equal rows. Few columns tell most rows apart."""
    columns = np.unique(np.linspace(0, rows.shape[1] - 1, COLUMNS).astype(int))
    # -0 and 0 are one number.
    bits = (rows[:, columns].astype(np.float64) + 0).view(np.uint64)
    odd = 2 * np.random.RandomState(0).randint(0, 2**62, len(columns), np.int64) + 1
    _, group, n = np.unique((bits * odd.astype(np.uint64)).sum(axis=1), return_inverse=True,
                            return_counts=True)
    codes: npt.NDArray[np.intp] = group.reshape(-1).astype(np.intp)
    alike = np.flatnonzero(n[codes] > 1)
    known: dict[bytes, int] = {}
    codes[alike] = [known.setdefault((row + 0).tobytes(), len(n) + len(known))
                    for row in rows[alike]]
    return codes


def copied_rows(subject: Subject) -> Iterator[Finding]:
    """Yield what all rows of both sides show, if they are in memory; of codes, zeros."""
    data = subject.file("query_features")
    subject.check_unequal()
    least = {"zero-features": 1, "repeated-images": REPEATED, "shared-features": SHARED}
    found: dict[str, dict[str, Integers]] = {name: {} for name in least}
    for side, features in (("query", data.query_features), ("gallery", data.gallery_features)):
        rows, identity = np.asarray(features), getattr(data, side).identity
        codes = _row_codes(rows)
        codes[np.bincount(codes)[codes] == 1] = -1
        is_zero = np.zeros(len(rows), bool)
        some = np.flatnonzero(rows[:, 0] == 0)
        is_zero[some] = ~rows[some].any(axis=1)
        codes[is_zero] = -1
        others = rows[~is_zero][:256]
        if others.size and len(rows) * (others == 0).mean() ** rows.shape[1] > BY_CHANCE:
            is_zero[:] = False  # features so sparse that some rows are zero by right
        for of_side, flags in zip(found.values(), (
                np.flatnonzero(is_zero), _repeated(codes, identity), _shared(codes, identity))):
            of_side[side] = flags
    for name in least:
        if name == "repeated-images":
            subject.check_no_codes()
        texts, evidence = [], dict[str, int | float]()
        for side, at in found[name].items():
            if len(at) >= least[name]:
                n = len(getattr(data, side))
                texts.append(f"{len(at):,} of {n:,} {SIDES[side]} (first: row {at[0]})")
                evidence |= {side: len(at), f"{side}_images": n, f"{side}_first": int(at[0])}
        if texts:
            yield tell(name, " and ".join(texts), **evidence)


def _repeated(codes: npt.NDArray[np.intp], identity: Integers) -> Integers:
    """Return the later rows of equal feature and identity; none if others are as equal, or if they
    are few and in no order, as means over the same neighbours are.
    """
    some = np.flatnonzero(codes >= 0)
    pairs, first, place = np.unique(np.stack([codes[some], identity[some]]), axis=1,
                                    return_index=True, return_inverse=True)
    later, source = (np.delete(rows, first) for rows in (some, first[place.reshape(-1)]))
    # A batch is filled up with its first images again, or with the last one.
    in_a_row = np.count_nonzero((np.diff(later) == 1) & np.isin(np.diff(some[source]), (0, 1)))
    by_right = len(later) < MANY * len(codes) and in_a_row < len(later) / 2
    others = pairs.shape[1] - len(np.unique(pairs[0]))
    return later[:0] if by_right or others >= len(later) / 10 else later


def _shared(codes: npt.NDArray[np.intp], identity: Integers) -> Integers:
    """Return the rows whose feature another identity has, too."""
    some = np.flatnonzero((codes >= 0) & (identity > DISTRACTOR))
    pairs = np.unique(np.stack([codes[some], identity[some]]), axis=1)
    feature, n = np.unique(pairs[0], return_counts=True)
    shared: Integers = some[np.isin(codes[some], feature[n > 1])]
    return shared


def identical_distances(subject: Subject) -> Iterator[Finding]:
    """Good images at distance 0, but for rounding."""
    sample = subject.sample
    for distances in subject.values.given:
        is_least = distances.real == distances.real.min()
        is_least &= ~is_least.all(axis=0)  # a column that was not filled is told as that
        on_one = subject.has_cameras and np.equal.outer(
            subject.cameras[0][sample.query], subject.cameras[1][sample.image])
        if MIN_QUERIES <= (is_least & (sample.good | sample.wrong)).sum() < is_least.size and (
                is_least.mean() > 0.5 or np.array_equal(is_least, on_one)):
            others = shares_nearer(distances.real, sample.good & ~is_least,
                                   sample.wrong & ~is_least)
            if not len(others) or others.mean() > 0.5:  # or the rest is reversed as well
                yield tell("masked-distances", share=is_least.mean(), least=distances.real.min())
                return
        subject.check_not_found("scaled-distances", "unfilled-distances")
        values = abs(distances)
        different = len(np.unique(values[0]))
        if not (distances.real >= 0).all() or different < min(FEW, len(values[0]) / 2):
            return  # similarities, squares less a constant, or counts: 0 means nothing
        near = values <= 1e-6 * np.median(values)
        # Where more wrong images are at 0, distances are so coarse that 0 means nothing.
        if near[sample.wrong].sum() < min(COARSE * sample.wrong.sum(), near[sample.good].sum()):
            yield from _query_in_gallery(subject, (near & sample.good).any(axis=1))


def _query_in_gallery(subject: Subject, has_copy: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    n, queries = int(has_copy.sum()), len(has_copy)
    by_camera = subject.by_camera and subject.has_cameras
    if n >= 3 and n > 0.05 * queries:
        yield tell("query-in-gallery", " under another camera" * by_camera,
                   "give them their own camera there" if by_camera else
                   "let each query ignore itself: --set ignored=itself", queries=queries,
                   with_copy=n)


def whole_matrix(subject: Subject) -> Iterator[Finding]:
    """Report a diagonal of zeros, rows or columns of one number, and columns scaled apart."""
    matrix = np.asarray(subject.file("distances").distances).real
    n = min(matrix.shape)
    apart = subject.query.identity[:n] != subject.gallery.identity[:n]
    ends = [(matrix.min(axis=axis), matrix.max(axis=axis)) for axis in (0, 1)]
    # Where most rows reach the greatest, as Jaccard distances do, it is no lack of a number.
    constant = sum(int(((least == most) & ((most < most.max()) | (
        (most == most.max()).mean() < 0.5))).sum()) for least, most in ends)
    if constant and n >= REPEATED and ends[0][0].min() < ends[0][1].max():
        yield tell("unfilled-distances", constant=constant)
    elif n >= REPEATED and not matrix.diagonal().any() and apart.sum() > n / 2:
        yield tell("zero-diagonal", pairs=n, different=int(apart.sum()))
    for (least, most), name, severity in zip(ends, ("gallery image", "query"),
                                             ("warning", "note")):
        if n >= REPEATED and least[0] < most[0] and np.ptp(least) == 0 and (
                np.ptp(most) <= 1e-6 * abs(most[0])):
            yield tell("scaled-distances", name, least[0], most[0], images=len(least),
                       severity=severity)
