"""The differences of a convention from `matlab`: derived from its fields, numbered."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reid_ref.conventions.choices import CHOICES, IGNORED

_NOT_LOADED = "Images labelled -1 are not loaded, where matlab ignores them: the same, but a " \
    "query labelled -1 is left out"
_JUNK_WRONG = "Label -1 is not ignored but an ordinary wrong answer: lower, unless the gallery " \
    "has none"
_OWN_CAMERA_GOOD = "Images of the query's identity on its own camera are good: either way, " \
    "mostly higher"
#: Rules that ignore images of the query's own camera.
_OF_CAMERA = ("same identity, same camera", "same camera", "same location")


def numbered(fields: Mapping[str, Any], oddities: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the differences from `matlab`, numbered, each with its direction.

    Parameters
    ----------
    fields : mapping
        The choices of a convention by the names of its fields.
    oddities : iterable of str
        What no field says.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> numbered({**vars(CONVENTIONS["matlab"]), "ap": "step"})
    ('1. AP by the step rule: higher, never lower.',)
    """
    texts = [*_of_ap(fields), *_of_roles(fields), *_of_lists(fields), *oddities]
    return tuple(f"{k}. {text}." for k, text in enumerate(texts, 1))


def _of_ap(fields: Mapping[str, Any]) -> Iterator[str]:
    yield from _told(fields, "ap", "recall")
    if fields["top_k"] is not None:
        fewer = fields["recall"] != "existing"
        yield (f"Only the first {fields['top_k']} kept images are looked at: "
               + ("either way" if fewer else "lower"))


def _of_roles(fields: Mapping[str, Any]) -> Iterator[str]:
    """Loaded and ignored images, and queries without a good image."""
    ignored = fields["ignored"]
    if fields["loads"] != "all images":
        yield _NOT_LOADED
    elif "label -1" not in ignored and "listed as junk" not in ignored:
        yield _JUNK_WRONG
    yield from (IGNORED[rule].differs for rule in ignored if IGNORED[rule].differs)
    if not any(rule in ignored for rule in (*_OF_CAMERA, "listed as junk")):
        yield _OWN_CAMERA_GOOD
    yield from _told(fields, "unmatched")


def _of_lists(fields: Mapping[str, Any]) -> Iterator[str]:
    """Ties, matches and curves; the length of a curve over identities is their number."""
    yield from _told(fields, "ties", "junk_match", "cmc")
    length = fields["cmc_length"]
    if not isinstance(length, str):
        yield f"CMC over the first {length} ranks: the same numbers, cut off"
    elif fields["cmc"] != "identities":
        yield from _told(fields, "cmc_length")
    yield from _told(fields, "arithmetic")


def _told(fields: Mapping[str, Any], *choices: str) -> Iterator[str]:
    for choice in choices:
        text = CHOICES[choice][fields[choice]].differs
        if text:
            yield text
