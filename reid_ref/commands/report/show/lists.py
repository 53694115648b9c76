"""Ranked lists as the template shows them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reid_ref.commands.report.compute import Page, System
from reid_ref.commands.report.show.tables import MOST_ROWS
from reid_ref.drawing.rank_list import Thumbnail, thumbnail
from reid_ref.evaluation.rank_lists import REASONS, Entry, RankList
from reid_ref.files.images import path_below
from reid_ref.text import percent

#: Bytes of a small picture, of a query in table and JSON, of an image in a list, and of the rest
#: for each system, as measured on made data of Market-1501's size.
PICTURE_BYTES, ROW_BYTES, ENTRY_BYTES, SYSTEM_BYTES = 2_700, 310, 530, 150_000


@dataclass(frozen=True)
class Images:
    """Where images are.

    Parameters
    ----------
    root : str
    names : mapping of str to (query names, gallery names)
        By system, relative to the root.
    pixelate : int, optional
        Blocks that the width of each picture is reduced to.
    """

    root: str
    names: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    pixelate: int | None = None

    def query(self, system: str, k: int) -> str:
        """Return the name of a query."""
        return self.names[system][0][k]

    def gallery(self, system: str, k: int) -> str:
        """Return the name of a gallery image."""
        return self.names[system][1][k]


def names_shown(content: Page, images: Images) -> list[str]:
    """Return the names of all images that the page shows, each once."""
    found: dict[str, None] = {}
    for system in content.systems:
        for one in system.lists.values():
            found[images.query(system.name, one.query)] = None
            for image in shown(one):
                found[images.gallery(system.name, image)] = None
    return list(found)


def shown(one: RankList) -> list[int]:
    """Return the gallery images of a list, each once."""
    entries = [*one.entries, *([one.next_good] if one.next_good else []), *one.good]
    return list(dict.fromkeys(entry.image for entry in entries))


def paths(content: Page, images: Images) -> dict[str, str]:
    """Return the path of each image by its name; a missing one is refused."""
    return {name: path_below(images.root, name) for name in names_shown(content, images)}


def thumbnails(found: Mapping[str, str], pixelate: int | None) -> dict[str, Thumbnail]:
    """Return the small picture of each image by its name."""
    return {name: thumbnail(path, pixelate) for name, path in found.items()}


def estimate(content: Page, images: Images | None) -> int:
    """Return about how many bytes a page will have."""
    n_rows = sum(min(len(system.data.query), MOST_ROWS) for system in content.systems)
    n_pictures = len(names_shown(content, images)) if images else 0
    n_entries = sum(len(shown(one)) for system in content.systems
                    for one in system.lists.values())
    return (SYSTEM_BYTES * len(content.systems) + ROW_BYTES * n_rows
            + PICTURE_BYTES * n_pictures + ENTRY_BYTES * n_entries)


#: Role to its mark and letter: a role can be told without its colour.
MARKS = {"good": "\u25cf G", "wrong": "\u2715 W", "distractor": "\u25b2 D", "ignored": "\u25a8 I"}
#: Tabs, besides the reasons of `rank_lists`.
TABS = {"gain": "largest gain", "loss": "largest loss", "worst": "worst AP", "median": "median AP",
        "random": "random", "rank-1 wrong": "Rank-1 wrong", "no match": "no match",
        "tied": "tied"}
MEANINGS = {**REASONS, "gain": "AP rose most from the baseline",
            "loss": "AP fell most from the baseline"}


class Cards:
    """Makes the cards of a page: the text under each picture, and which picture it is."""

    def __init__(self, images: Images | None, pictures: Mapping[str, Thumbnail]) -> None:
        self._images, self._pictures = images, pictures
        self._number = {name: k for k, name in enumerate(pictures)}

    def of_query(self, system: System, one: RankList) -> dict[str, Any]:
        """Return the card of a query."""
        name = self._images.query(system.name, one.query) if self._images else ""
        return {"role": "query", "mark": "Query", "facts": [
            f"id {one.identity}", f"camera {one.camera}"], **self._picture(name)}

    def of_entry(self, system: System, entry: Entry) -> dict[str, Any]:
        """Return the card of a gallery image."""
        name = self._images.gallery(system.name, entry.image) if self._images else ""
        rank = f"rank {entry.rank}" if entry.rank is not None else "ignored"
        facts = [rank, f"d {entry.distance:.4g}", f"id {entry.identity}",
                 f"camera {entry.camera}", *([entry.reason] if entry.reason else [])]
        return {"role": entry.role, "mark": MARKS[entry.role], "image": entry.image,
                "facts": facts, **self._picture(name)}

    def _picture(self, name: str) -> dict[str, Any]:
        if not name:
            return {"picture": None, "name": ""}
        small = self._pictures[name]
        return {"picture": self._number[name], "width": small.width, "height": small.height,
                "name": name}


def queries(content: Page, cards: Cards) -> list[dict[str, Any]]:
    """Return the queries that the page shows, each with a list a system."""
    found = []
    first = content.systems[0]
    for query in first.lists:
        why = [reason for reason, chosen in content.reasons.items() if query in chosen]
        found.append({"query": query, "identity": first.lists[query].identity,
                      "camera": first.lists[query].camera, "why": ",".join(why),
                      "reasons": ", ".join(TABS[reason] for reason in why),
                      "lists": [_list(system, system.lists[query], cards)
                                for system in content.systems]})
    return found


def _list(system: System, one: RankList, cards: Cards) -> dict[str, Any]:
    per_query, k = system.result.per_query, one.query
    first, n_good = int(per_query.first_match[k]), int(per_query.n_good[k])
    words = [f"AP {percent(float(per_query.ap[k]))}",
             f"first match at rank {first:,}" if first else "no match",
             f"{n_good:,} good image{'' if n_good == 1 else 's'}"]
    if per_query.status[k] != "ok":
        words.append(str(per_query.status[k]))
    return {"name": system.name, "words": ", ".join(words),
            "cards": [cards.of_query(system, one),
                      *(cards.of_entry(system, entry) for entry in one.entries)],
            "more_ignored": one.more_ignored, "n_good": n_good,
            "next": one.next_good and {
                "rank": f"{one.next_good.rank:,}", "card": cards.of_entry(system, one.next_good)},
            "good": [cards.of_entry(system, entry) for entry in one.good]}


def tabs(content: Page) -> list[dict[str, Any]]:
    """Return the tabs that have queries."""
    return [{"why": reason, "name": name, "count": len(content.reasons[reason]),
             "meaning": MEANINGS[reason]}
            for reason, name in TABS.items() if content.reasons.get(reason)]
