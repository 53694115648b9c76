"""Signatures: everything that could change a number.

A signature is a text of KEY:VALUE fields, the convention first and the version last.

Whatever chooses queries or images has a field, as counts may be the same: a loader, lists,
candidates, given trials, a cut of detections. tests/commands/test_selections.py holds this for
each option.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reid_ref._version import __version__
from reid_ref.arrays import InputError
from reid_ref.conventions import (
    CHOICES, CONVENTIONS, NAMES, Convention, choice_text, choices_of_text, known_as)
from reid_ref.labels import Labels

#: In every signature, in this order; further fields are between them.
FIRST, LAST = ("convention", "ap", "unmatched", "ties"), ("queries", "gallery", "reid-ref")
#: The choices that are in a signature only if they are not matlab's.
OPTIONAL = ("loads", "ignored", "recall", "top_k", "cut", "unlisted", "junk_match", "cmc",
            "cmc_length", "arithmetic")


class Signature(Mapping[str, str]):
    """The fields of a signature in their order; `str()` is its text, and `==` compares that.

    Parameters
    ----------
    fields : mapping of str to str or int

    Examples
    --------
    >>> fields = Signature({"convention": "matlab", "ap": "trapezoid", "reid-ref": "1.0"})
    >>> str(fields), fields["ap"], fields == str(fields)
    ('convention:matlab|ap:trapezoid|reid-ref:1.0', 'trapezoid', True)
    >>> str(fields.changed({"ap": "step", "n": 5}, before="reid-ref"))
    'convention:matlab|ap:step|n:5|reid-ref:1.0'
    """

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._fields = {key: str(value) for key, value in fields.items()}

    def changed(self, fields: Mapping[str, object], before: str = "queries") -> Signature:
        """Return it with these values; fields that it lacks are put in before the one named."""
        new = {key: value for key, value in fields.items() if key not in self._fields}
        every: dict[str, object] = {}
        for key, value in self._fields.items():
            every.update(new if key == before else {})
            every[key] = fields.get(key, value)
        return Signature(every)

    def __getitem__(self, key: str) -> str:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" for key, value in self._fields.items())

    def __repr__(self) -> str:
        return f"Signature({self._fields})"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (Signature, str)) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


def signature(fields: Mapping[str, str], query: Labels, gallery: Labels) -> Signature:
    """Return all that could change a number: the fields, how many images, the version."""
    return Signature({**fields, **({"cameras": "none"} if query.camera is None else {}),
                      "queries": len(query), "gallery": len(gallery), "reid-ref": __version__})


def parse_signature(text: str) -> Signature:
    """Return the signature that a text is.

    Raises
    ------
    InputError
        A field is missing, comes twice or has no value; a count is no number.

    Examples
    --------
    >>> fields = parse_signature("convention:matlab|ap:trapezoid|unmatched:zero|"
    ...                          "ties:gallery-order|queries:3368|gallery:19732|reid-ref:0.2.0")
    >>> fields["convention"], fields["queries"]
    ('matlab', '3368')
    """
    fields: dict[str, str] = {}
    for part in text.split("|"):
        key, colon, value = (word.strip() for word in part.partition(":"))
        if not colon or not value or key in fields:
            raise InputError("signature", "KEY:VALUE, each key once", repr(part.strip()))
        fields[key] = value
    if missing := [key for key in (*FIRST, *LAST) if key not in fields]:
        raise InputError("signature", f"all of {', '.join((*FIRST, *LAST))}",
                         remedy=f"{', '.join(missing)} not there")
    for key in ("queries", "gallery"):
        if not re.fullmatch("[0-9]{1,18}", fields[key]):
            raise InputError("signature", "a number of images", f"{key}:{fields[key]}")
    return Signature(fields)


def fields_of(convention: Convention) -> dict[str, str]:
    """Return a signature's fields of a convention: its name, and choices other than matlab's.

    Examples
    --------
    >>> fields_of(CONVENTIONS["matlab"].replace(top_k=5))["top_k"]
    '5'
    """
    default = CONVENTIONS["matlab"]
    changed = {name: getattr(convention, name) for name in OPTIONAL
               if getattr(convention, name) != getattr(default, name)}
    return {"convention": convention.name,
            **{name: getattr(convention, name) for name in FIRST[1:]},
            **{name: choice_text(value) for name, value in changed.items()}}


def distance_of(metric: str, normalize: bool) -> dict[str, str]:
    """Return a signature's fields of the distances of features.

    The cosine is that of normalised features.

    Examples
    --------
    >>> distance_of("cosine", False)
    {'metric': 'cosine', 'normalize': 'yes'}
    """
    return {"metric": metric, "normalize": "yes" if normalize or metric == "cosine" else "no"}


def measured_as(convention: Convention, fields: Mapping[str, str]) -> Convention:
    """Return the convention with the distances of features that a signature names.

    Examples
    --------
    >>> measured_as(CONVENTIONS["matlab"], {"metric": "dot", "normalize": "no"}).metric
    'dot'
    """
    default = distance_of(convention.metric, convention.normalize)
    named = {key: fields.get(key, value) for key, value in default.items()}
    return convention if named == default else convention.replace(
        metric=named["metric"], normalize=named["normalize"] == "yes", measure="")


def convention_of(fields: Mapping[str, str]) -> Convention:
    """Return what was evaluated: matlab, but for the choices that the signature names.

    Raises
    ------
    InputError
        An unknown choice, or choices that do not go together.
    """
    choices = [f"{key}={value}" for key, value in fields.items() if key in (*CHOICES, "top_k")]
    changes = choices_of_text(choices, "signature")
    named = _named(fields["convention"]) or CONVENTIONS["matlab"]
    return CONVENTIONS["matlab"].replace(
        name=fields["convention"], **changes, metric=named.metric, normalize=named.normalize,
        measure=named.measure)


def off_its_name(fields: Mapping[str, str]) -> list[str]:
    """Return the choices that are not those of the convention named, as sentences.

    A name that is not known here may have any choices.
    """
    named = _named(fields["convention"])
    if named is None:
        return []
    signed = convention_of(fields)
    return [f"signature: {key} is {choice_text(getattr(signed, key))}, but convention "
            f"{fields['convention']} has {choice_text(getattr(named, key))}"
            for key in (*CHOICES, "top_k") if getattr(signed, key) != getattr(named, key)]


def _named(name: str) -> Convention | None:
    """Return the convention of this name, e.g. ``matlab[ap=step]``."""
    match = re.fullmatch(r"([^\[\]]+)((?:\[[^\[\]]*\])*)", name)
    if match is None or (name := known_as(match[1])) not in NAMES:
        return None
    changes: dict[str, Any] = {}
    for text in re.findall(r"\[([^\[\]]+)\]", match[2]):
        changes.update(choices_of_text([text], "signature"))
    return CONVENTIONS[name].replace(**changes)
