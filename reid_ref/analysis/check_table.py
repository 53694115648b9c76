"""Can the numbers of a printed row be at all? Signatures, counts k/N, and Rank-k that falls."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from reid_ref.analysis.markdown_tables import Row
from reid_ref.analysis.possible import hit_counts
from reid_ref.analysis.signatures import convention_of, off_its_name, parse_signature
from reid_ref.arrays import InputError
from reid_ref.conventions import UNMATCHED
from reid_ref.datasets.fingerprints import FINGERPRINTS


@dataclass(frozen=True)
class Checked:
    """What was found on one row.

    Parameters
    ----------
    row : Row
    n_query : int or None
        Queries that Rank-k is a share of; None where that is not known.
    problems : tuple of str
        Empty where nothing is impossible.
    """

    row: Row
    n_query: int | None
    problems: tuple[str, ...]


def check_row(row: Row, dataset: str | None = None) -> Checked:
    """Check one row; without a signature, as a row of `dataset`, a key of `FINGERPRINTS`."""
    faults: list[str] = []
    n_query = None if dataset is None else FINGERPRINTS[dataset].counts.query
    if row.signature is not None:
        try:
            fields = parse_signature(row.signature)
            faults, n_query = off_its_name(fields), _queries_of_rank(fields)
        except InputError as error:
            faults, n_query = [str(error)], None
    return Checked(row, n_query, (*faults, *_beyond(row), *_falling(row),
                                  *_no_counts(row, n_query)))


def _queries_of_rank(fields: dict[str, str]) -> int | None:
    """Return how many queries Rank-k counts; None where it is no such count, or unknown."""
    convention = convention_of(fields)
    n_query, n_gallery = int(fields["queries"]), int(fields["gallery"])
    if not convention.curve.counts:
        return None
    # Queries without a match may be left out; how many there are is known of benchmarks.
    known = [one.counts for one in FINGERPRINTS.values() if one.counts.query == n_query
             and n_gallery in (one.counts.gallery, one.counts.gallery - one.counts.junk)]
    if not UNMATCHED[convention.unmatched].in_cmc:
        return n_query - known[0].unmatched if known else None
    return n_query


def _beyond(row: Row) -> Iterator[str]:
    for name, value in row.numbers.items():
        if value > 100:
            yield f"{name} {value} is over 100 percent"


def _falling(row: Row) -> Iterator[str]:
    """Yield each Rank-k that is lower than one of a smaller k."""
    ranks = sorted((int(name.removeprefix("Rank-")), value)
                   for name, value in row.numbers.items() if name.startswith("Rank-"))
    for (k, value), (larger, other) in zip(ranks, ranks[1:]):
        if other < value and not _same_rounded(value, other):
            yield f"Rank-{larger} {other} is below Rank-{k} {value}, but a CMC curve never falls"


def _same_rounded(value: Decimal, other: Decimal) -> bool:
    """Tell whether two numbers may be one, printed with different numbers of digits."""
    fewer = max(value, other, key=lambda one: int(one.as_tuple().exponent))
    return bool(abs(value - other) < Decimal(1).scaleb(int(fewer.as_tuple().exponent)))


def _no_counts(row: Row, n_query: int | None) -> Iterator[str]:
    for name, value in row.numbers.items():
        if n_query is None or not name.startswith("Rank-") or value > 100:
            continue
        counts = hit_counts(value, n_query)
        if counts.rounding == "no":
            yield (f"{name} {value} is no count of {n_query:,} queries: the nearest are "
                   + " and ".join(f"{k:,} ({Decimal(100 * k) / n_query:.5f})"
                                  for k in counts.nearest))
