"""What became of a query."""
from __future__ import annotations

from collections.abc import Iterable

from reid_ref.conventions import only_ignored

#: What became of a query, in the order in which reports list them, with its meaning. If a
#: convention ignores by more than camera or location, the status names that in the place of these:
#: "only same camera or same clothes".
STATUSES = {
    "ok": "at least one good image",
    "identity absent": "no gallery image has the query's identity",
    "only same camera": "the query's identity is in the gallery, but only on its own camera",
    "only same location": "the same, where a location is what is ignored",
    "none listed": "the query's list of good images is empty",
    "only junk": "the query is labelled -1, so all of its good images are junk too",
    "nothing kept": "every gallery image is junk for this query, or every image of its ranked "
                    "list, which may be empty",
    "not loaded": "the query is labelled -1, which the toolbox's loader leaves out"}


def statuses_of(ignored: Iterable[str]) -> list[str]:
    """Return every status that a query can have where a convention ignores this."""
    return [*dict.fromkeys(filter(None, (*STATUSES, only_ignored(ignored))))]
