"""A result as `evaluate --per-query FILE.json` wrote it, and the convention that it names."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reid_ref.analysis.signatures import convention_of, parse_signature
from reid_ref.arrays import Doubles, InputError
from reid_ref.conventions import Convention
from reid_ref.files.per_query import QueryTable, read_per_query


@dataclass(frozen=True)
class Stored(QueryTable):
    """One file.

    Parameters
    ----------
    fields : dict of str to str
        Of the signature.
    convention : Convention
        What the signature says was evaluated.
    """

    fields: Mapping[str, str]
    convention: Convention

    def in_mean(self, values: Doubles) -> Doubles:
        """Return the values, one a query, that the convention takes into a mean."""
        there = self.per_query.status != "not loaded"
        return self.convention.counted(values[there], self.per_query.n_good[there])


def read_stored(path: str) -> Stored:
    """Read a file of --per-query.

    Raises
    ------
    InputError
        It cannot be read, is not such a file, or is CSV, which has no signature.
    """
    table = read_per_query(path, "what reid-ref evaluate FILE --per-query OUT.json writes")
    if "signature" not in table.numbers:
        raise InputError(f"{path}: expected JSON, which has the signature, got CSV; write it with "
                         "reid-ref evaluate FILE --per-query OUT.json")
    try:
        fields = parse_signature(table.numbers["signature"])
        return Stored(**vars(table), fields=fields, convention=convention_of(fields))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
