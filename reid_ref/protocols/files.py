"""A user-defined protocol, as a TOML or JSON file with the fields of `Protocol`."""
import os
import tomllib
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import InputError, errors_at
from reid_ref.conventions import NAMES
from reid_ref.datasets.benchmarks import FIELDS
from reid_ref.disk import PathLike, read_json
from reid_ref.protocols.record import Protocol
from reid_ref.protocols.records import PROTOCOLS
from reid_ref.protocols.tables import checked_table, protocol_from

#: Of a file, and dots of a line of TOML.
_MOST_BYTES, _MOST_DOTS = 2**16, 100


def read_protocol(path: PathLike) -> Protocol:
    """Read a protocol from a .toml or .json file.

    Its fields are those of `Protocol`. `convention` is a name, or a table of a `base` and other
    choices; `parts` is a list of tables with `name`, `ignored`, and for `query` and `gallery` a
    table of `side`, `drawn` and `where`; `trials` is a table of `kind` (given, seeded, exact),
    `n`, `seed`, `unit`, `draw` and `file`; `counts` has queries and gallery images by part. What
    is left out is as in `Protocol`. A file may also have the form of the benchmarks' own
    (``reid_ref/datasets/NAME.toml``), with one table in `protocols`.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        The file cannot be read, or a field is unknown or wrong.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "mine.json")
    ...     with open(path, "w") as file:
    ...         _ = file.write('{"name": "mine", "convention": {"base": "matlab", "ap": "step"}}')
    ...     read_protocol(path).convention.ap
    'step'
    """
    expected = "a protocol in TOML or JSON"
    with suppress(OSError):  # `read_json` raises it
        if os.path.getsize(path) > _MOST_BYTES:
            raise InputError(path, f"{expected}, of at most {_MOST_BYTES:,} bytes",
                             f"{os.path.getsize(path):,}")
    loads = None if Path(path).suffix.lower() == ".json" else partial(_toml, path)
    values = read_json(path, expected, loads)
    with errors_at(path):
        protocol = protocol_from(_only(values))
        _check_names(protocol)
        return protocol


def _toml(path: PathLike, text: str) -> Any:
    # The time that `tomllib` takes for a dotted key grows faster than the square of its length.
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MOST_DOTS:
            raise InputError(f"{path}: line {number}", f"at most {_MOST_DOTS} dots",
                             line.count("."), "begin a new line")
    return tomllib.loads(text)


def _only(values: Any) -> Any:
    """Return the table of the protocol: the file's own, or the only one of a benchmark's file."""
    if not (isinstance(values, dict) and "protocols" in values):
        return values
    tables = checked_table(values, "the file", FIELDS)["protocols"]
    if len(tables) != 1:
        raise InputError("protocols", "one table in a file of your own", len(tables),
                         "make a file of each")
    return tables[0]


def _check_names(protocol: Protocol) -> None:
    """Refuse the names of reid-ref's own records, which signatures and reports would show."""
    reserved = {extensions.canonical(name) for name in (*NAMES, *PROTOCOLS, *(
        record.convention_of(part).name for record in PROTOCOLS.values()
        for part in record.parts))}
    for name in (protocol.name, *(protocol.convention_of(part).name for part in protocol.parts
                                  if part.ignored is not None)):
        if extensions.canonical(name.partition("[")[0]) in reserved:
            raise InputError("name", "a name of your own", f"{name!r}, which is one of reid-ref",
                             "give the file's protocol another name")
