"""Text as arrays of numpy, whose entries are all as wide as the longest, four bytes a character.

One long name among many short ones takes gigabytes so. Lengths are looked at before the array is
made, here for whatever reads names.
"""
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays.errors import InputError

#: Characters of a name; the longest path that Linux takes has as many bytes.
LONGEST = 4096
#: Bytes of an array of text, and of these for each character of the texts themselves.
_ANY, _EACH = 10**8, 10


def text_array(texts: Collection[str], where: object) -> npt.NDArray[np.str_]:
    """Return texts as an array, if that is not much larger than they are.

    Examples
    --------
    >>> text_array(["a.jpg", "bc.jpg"], "name")
    array(['a.jpg', 'bc.jpg'], dtype='<U6')
    >>> text_array(["a.jpg", 5000 * "b"], "name")
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: name: expected names of at most 4,096 characters, got 5,000
    """
    check_texts(texts, where)
    return np.array(texts if isinstance(texts, (list, tuple)) else list(texts), dtype=np.str_)


def check_texts(texts: Collection[str], where: object) -> None:
    """Refuse texts of which one is too long, or as an array much larger than they are.

    A text that a file names often is counted once: it is there once.
    """
    longest = max(map(len, texts), default=0)
    check_width(longest, where)
    n_bytes = 4 * longest * len(texts)
    if n_bytes > _ANY and n_bytes > _ANY + _EACH * sum(map(len, set(texts))):
        raise InputError(where, "names of like lengths", f"one of {longest:,} characters among "
                         f"{len(texts):,}, which take {n_bytes / 1e6:,.0f} MB so",
                         "shorten the long ones")


def check_width(longest: int, where: object) -> None:
    """Refuse names of that many characters."""
    if longest > LONGEST:
        raise InputError(where, f"names of at most {LONGEST:,} characters", f"{longest:,}")


def texts_within(value: Any) -> list[str]:
    """Return the texts in lists, also of lists, of which numpy would make one array.

    Examples
    --------
    >>> texts_within([[1, "a"], ("b",)]), texts_within([1, 2])
    (['a', 'b'], [])
    """
    kinds = set(map(type, value))
    texts = [text for text in value if isinstance(text, str)] if str in kinds else []
    if kinds & {list, tuple}:
        texts += [text for row in value if isinstance(row, (list, tuple))
                  for text in texts_within(row)]
    return texts
