"""Records that installed packages add: conventions, rules of AP, protocols, measures, layouts.

A package declares a record by name, as an entry point (docs/extending.md). Its code is imported
only if that name is looked up, or if all are listed. The names of reid-ref itself, and what
its files mean, stay as they are.
"""
import re
from collections.abc import Iterable
from typing import Any, TypeVar

from reid_ref.arrays import InputError, PackageWarning, warn

Record = TypeVar("Record")


def canonical(name: str) -> str:
    """Return a name as lookups compare it: in any case, without -, _ and blanks."""
    return re.sub(r"[-_\s]", "", name.lower())


def declared_names(kind: str) -> list[str]:
    """Return the names that packages declare; none of them is imported."""
    return [entries[0].name for entries in _declared(kind).values()]


def declared_record(kind: str, name: str, record: type[Record]) -> Record | None:
    """Return the record that a package declares under a name; None if no package does.

    Raises
    ------
    InputError
        Two packages declare it, or it cannot be imported, or is something else.
    """
    entries = _declared(kind).get(canonical(name))
    return None if entries is None else _load(kind, entries, record)


def installed(kind: str, record: type[Record], reserved: Iterable[str]) -> dict[str, Record]:
    """Return all records that packages declare, by name; warn of those that cannot be used."""
    records, taken = {}, set(map(canonical, reserved))
    for name, entries in _declared(kind).items():
        try:
            if name in taken:
                raise _refused(kind, entries, "is a name of reid-ref, whose own record is used")
            records[entries[0].name] = _load(kind, entries, record)
        except InputError as error:
            warn(str(error), PackageWarning)
    return records


def _declared(kind: str) -> dict[str, list[Any]]:
    """Return the entry points of a kind by their canonical names."""
    from importlib.metadata import entry_points  # takes long to load

    by_name: dict[str, list[Any]] = {}
    for entry in entry_points(group=f"reid_ref.{kind}s"):
        by_name.setdefault(canonical(entry.name), []).append(entry)
    return by_name


def _load(kind: str, entries: list[Any], record: type[Record]) -> Record:
    if len(entries) > 1:
        raise _refused(kind, entries, "is one name for two records", "one of the packages")
    try:
        value = entries[0].load()
    except (Exception, SystemExit) as error:  # whatever the code of others does
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise _refused(kind, entries, f"cannot be imported ({reason})") from None
    if not isinstance(value, record):
        raise _refused(kind, entries,
                       f"is of type {type(value).__name__}, and no {record.__name__}")
    if (name := getattr(value, "name", entries[0].name)) != entries[0].name:
        raise _refused(kind, entries, f"calls itself {name!r}")
    return value


def _refused(kind: str, entries: list[Any], reason: str, which: str = "it") -> InputError:
    packages = " and ".join(f"{entry.dist.name} {entry.dist.version}" for entry in entries)
    return InputError(kind, got=f"{entries[0].name!r} of {packages} {reason}",
                      remedy=f"update or uninstall {which}")
