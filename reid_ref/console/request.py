"""What a command line requests, as one frozen value: `args` of argparse end here."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from reid_ref.arrays import InputError

Own = TypeVar("Own", bound="Request")
#: Options whose value has another name.
_NAMES = {"--set": "choices", "--name": "names", "--lambda": "lambda_"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options that commands share, by the names of their values; None is not given.

    A command with further options has a class of its own, with a field for each.
    """

    files: list[str] = field(default_factory=list)
    format: str = "table"
    map: list[str] = field(default_factory=list)
    convention: list[str] | None = None
    choices: list[str] = field(default_factory=list)
    metric: str | None = None
    normalize: bool | None = None
    pool: str | None = None
    index_lists: list[str] | None = None
    max_memory: str | None = None
    threads: int | None = None
    names: list[str] | None = None
    ranks: list[int] | None = None
    measure: str | None = None
    cmc: str | None = None
    labels: list[str] | None = None
    numbers_from: int | None = None
    n_good: str | None = None
    protocol: str | None = None
    part: str | None = None
    trials: str | None = None
    shots: int | None = None
    min_score: list[float] | None = None
    boxes_per_image: list[float] | None = None
    images: str | None = None
    query_names: str | None = None
    gallery_names: str | None = None
    confidence: bool = False
    level: float | None = None
    unit: str | None = None
    confidence_method: str | None = None
    resamples: int | None = None
    seed: int | None = None

    @classmethod
    def of(cls: type[Own], given: Mapping[str, Any]) -> Own:
        """Return the request of a command line, given the values of its options."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in given.items() if name in known})

    def given(self, *options: str) -> list[str]:
        """Return which options are given: a value that is not None, False or empty."""
        names = []
        for option in options:
            value = getattr(self, _NAMES.get(option, option[2:].replace("-", "_")), None)
            if option == "--normalize" and value is False:
                names.append("--no-normalize")
            elif not (value is None or value is False or value in ([], ())):  # 0 is given
                names.append(option)
        return names

    def refuse(self, options: Iterable[str], expected: str, got: str) -> None:
        """Refuse those of some options that are given."""
        if names := self.given(*options):
            raise InputError(", ".join(names), expected, got)
