"""The benchmarks' own files, reid_ref/datasets/NAME.toml: one for each benchmark, as tables.

A file has the names of a benchmark, its counts, and the table of each protocol, which
`reid_ref.protocols` reads as it reads a file of the user's. No file is read before a record is
requested.
"""
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, TypeVar

Record = TypeVar("Record")


class OnFirstUse(Mapping[str, Record]):
    """A mapping that reads its keys when it is first used, and makes each record when requested.

    Examples
    --------
    >>> names = OnFirstUse(lambda: {"a": "1"}, int)
    >>> names["a"], list(names), len(names)
    (1, ['a'], 1)
    """

    def __init__(self, read: Callable[[], Mapping[str, Any]],
                 make: Callable[[Any], Record]) -> None:
        self._read, self._make = read, make
        self._by_key: dict[str, Record] = {}

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        return dict(self._read())

    def __getitem__(self, key: str) -> Record:
        if key not in self._by_key:
            self._by_key[key] = self._make(self._values[key])
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@cache
def tables() -> dict[str, dict[str, Any]]:
    """Return key to the contents of each benchmark's file; the key is the file's name."""
    folder = sorted(files("reid_ref.datasets").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8"))
            for file in folder if file.name.endswith(".toml")}
