"""The protocols by name, from the files of their benchmarks (reid_ref/datasets/NAME.toml)."""
import contextlib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import BenchmarkWarning, InputError, errors_at, warn
from reid_ref.conventions import Convention
from reid_ref.datasets.benchmarks import BENCHMARKS, benchmark_named, folded
from reid_ref.datasets.records import OnFirstUse
from reid_ref.evaluation.how import How
from reid_ref.labels import Labels
from reid_ref.protocols.record import Given, Part, Protocol, Sides
from reid_ref.protocols.tables import protocol_from
from reid_ref.result import Result
from reid_ref.signature import fields_of


def _tables() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the benchmark of each protocol, and its table, by the protocol's name."""
    return {table["name"]: (benchmark.key, table) for benchmark in BENCHMARKS.values()
            for table in benchmark.protocols}


def _protocol(of_benchmark: tuple[str, Mapping[str, Any]]) -> Protocol:
    key, table = of_benchmark
    with errors_at(f"{key}.toml"):
        return protocol_from(table, key)


#: Name to protocol.
PROTOCOLS: Mapping[str, Protocol] = OnFirstUse(_tables, _protocol)


def check_counts(protocol: Protocol, parts: Iterable[Part], sides: Sides) -> None:
    """Warn once of other counts than the benchmark's, and of whose they are."""
    differences = []
    for part in parts:
        expected, got = _expected(protocol, part), protocol.ranked(part, sides)
        matching = [other.name for other in PROTOCOLS.values()
                    if other.name != protocol.name and got in other.counts.values()
                    and (expected or other.benchmark != protocol.benchmark)]
        if not protocol.benchmark or got in expected or not (expected or matching):
            continue
        sizes = " or ".join(f"{query:,} and {gallery:,}" for query, gallery in expected)
        differences.append(
            f"part {part.name}: {got[0]:,} queries and {got[1]:,} gallery images"
            + (f", where the benchmark has {sizes}" if sizes else "")
            + (f"; these are the counts of {' and '.join(matching)}" if matching else ""))
    if differences:
        warn(f"{protocol.name}, {'; '.join(differences)}", BenchmarkWarning)


def _expected(protocol: Protocol, part: Part) -> list[tuple[int, int]]:
    """Return the queries and gallery images of a part, or of each setting of the benchmark."""
    if part.name in protocol.counts:
        return [protocol.counts[part.name]]
    benchmark = BENCHMARKS.get(protocol.benchmark)
    return [(images.query, images.gallery) for images in (benchmark.images if benchmark else ())
            if images.protocol == protocol.name]


def protocols_of(query: Labels, gallery: Labels) -> list[str]:
    """Return the names of the protocols that such a file is of, by the number of its images.

    Those of which a part has as many queries and gallery images; if there is none, those of which
    it is one trial.

    Examples
    --------
    >>> protocols_of(Labels([1] * 1980, [1] * 1980), Labels([1] * 9330, [2] * 9330))
    ['mars-torchreid']
    """
    sides, names = {"query": query, "gallery": gallery}, []
    for protocol in (PROTOCOLS[name] for name, (_, table) in _tables().items() if any(
            sum(counts) <= len(query) + len(gallery)  # others need no record
            for counts in table.get("counts", {}).values())):
        with contextlib.suppress(InputError):  # cameras or columns that are not the benchmark's
            protocol.check_cameras(protocol.parts, query)
            named = {side: protocol.labelled(labels, side) for side, labels in sides.items()}
            if any(protocol.ranked(part, named) == protocol.counts.get(part.name)
                   for part in protocol.parts):
                names.append(protocol.name)
    return names or list(dict.fromkeys(
        images.protocol for benchmark in BENCHMARKS.values() for images in benchmark.images
        if images.protocol and (images.query, images.gallery) == (len(query), len(gallery))))


def gives(protocol: Protocol, result: Result) -> bool:
    """Return whether a protocol is one plain evaluation, and `result` has its number."""
    def counted(convention: Convention) -> dict[str, str]:
        return {**fields_of(convention), "convention": "", "scaling": How((convention,)).scaling()}

    plain = (protocol.parts, protocol.trials, protocol.boxes, protocol.tracks) == (
        (Part(),), Given(), None, False)
    return plain and counted(protocol.convention) == counted(result.convention)


def every_protocol() -> dict[str, Protocol]:
    """Return the protocols by name, then those of installed packages."""
    return {**PROTOCOLS, **extensions.installed("protocol", Protocol, PROTOCOLS)}


def find_protocol(protocol: str | Protocol, argument: str = "protocol") -> Protocol:
    """Return the record of that name, or the first of the benchmark that is called so; or itself.

    Raises
    ------
    InputError
        An unknown name, of which the nearest is named.

    Examples
    --------
    >>> find_protocol("SYSU_MM01").name, find_protocol("MSMT17_V2").name
    ('sysu-mm01', 'msmt17')
    """
    if isinstance(protocol, Protocol):
        return protocol
    if not isinstance(protocol, str):
        raise InputError(argument, "a name or a Protocol", type(protocol).__name__)
    name, key = folded(protocol, "-"), benchmark_named(protocol)
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if record := extensions.declared_record("protocol", protocol, Protocol):
        return record
    if key is not None:
        return next(record for record in PROTOCOLS.values() if record.benchmark == key)
    near = get_close_matches(name, [*PROTOCOLS, *extensions.declared_names("protocol")], n=1)
    raise InputError(argument, got=f"unknown {protocol!r}", remedy=(
        f"did you mean {near[0]!r}? " if near else "") + "reid-ref protocols lists all")


def part_named(name: str) -> tuple[Protocol, Part] | None:
    """Return the part of a protocol of images that is called so, of a protocol's name its first;
    None if there is no such one.

    Examples
    --------
    >>> protocol, part = part_named("LTCC-cc")
    >>> protocol.name, part.name, part_named("veri-776-tracks")[1].name, part_named("torchreid")
    ('ltcc', 'cc', 'all', None)
    """
    called = folded(name, "-")
    for protocol in PROTOCOLS.values():
        parts = {f"{protocol.name}-{part.name}": part for part in protocol.parts}
        if protocol.boxes is None and called in {*parts, protocol.name}:
            return protocol, parts.get(called, protocol.parts[0])
    return None
