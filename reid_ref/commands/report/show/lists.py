"""Ranked lists as the template shows them."""
from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reid_ref.commands.report.compute import Page, Reported
from reid_ref.datasets.names import path_below
from reid_ref.drawing.rank_lists import MARKS, read_image
from reid_ref.evaluation.rank_lists import REASONS, Entry, RankList
from reid_ref.text import percent

#: Pictures fit in here: upright people, wide vehicles.
UPRIGHT, WIDE = (64, 128), (96, 96)
QUALITY = 75
#: Tabs, besides the reasons of `rank_lists`.
TABS = {"gain": "largest gain", "loss": "largest loss", "worst": "worst AP", "median": "median AP",
        "random": "random", "rank-1 wrong": "Rank-1 wrong", "no match": "no match",
        "tied": "tied"}
MEANINGS = {**REASONS, "gain": "AP rose most from the baseline",
            "loss": "AP fell most from the baseline"}


@dataclass(frozen=True)
class ImageNames:
    """Where images are.

    Parameters
    ----------
    root : str
    names : mapping of str to (query names, gallery names)
        By system, relative to the root.
    """

    root: str
    names: Mapping[str, tuple[Sequence[str], Sequence[str]]]


def thumbnail(path: str) -> dict[str, Any]:
    """Return an image as a small JPEG: its data: URI, width and height."""
    image = read_image(path)
    box = UPRIGHT if image.height >= image.width else WIDE
    factor = min(box[0] / image.width, box[1] / image.height)
    width, height = (max(1, round(factor * side)) for side in image.size)
    data = io.BytesIO()
    image.resize((width, height), 2).save(data, "JPEG", quality=QUALITY)   # 2: bilinear
    encoded = base64.b64encode(data.getvalue()).decode()
    return {"uri": f"data:image/jpeg;base64,{encoded}", "width": width, "height": height}


class Cards:
    """Makes the cards of a page; an image is read when the first card shows it."""

    def __init__(self, images: ImageNames | None) -> None:
        self._images = images
        #: By name; `picture` is the number on the page.
        self.pictures: dict[str, dict[str, Any]] = {}

    def of_query(self, system: str, ranked: RankList) -> dict[str, Any]:
        """Return the card of a query."""
        facts = [f"id {ranked.identity}", f"camera {ranked.camera}"]
        return {"role": "query", "mark": "Query", "facts": facts,
                **self._picture(system, 0, ranked.query)}

    def of_entry(self, system: str, entry: Entry) -> dict[str, Any]:
        """Return the card of a gallery image."""
        rank = f"rank {entry.rank}" if entry.rank is not None else "ignored"
        facts = [rank, f"d {entry.distance:.4g}", f"id {entry.identity}",
                 f"camera {entry.camera}", *([entry.reason] if entry.reason else [])]
        return {"role": entry.role, "mark": f"{MARKS[entry.role]} {entry.role[0].upper()}",
                "image": entry.image, "facts": facts, **self._picture(system, 1, entry.image)}

    def _picture(self, system: str, side: int, image: int) -> dict[str, Any]:
        if self._images is None:
            return {"picture": None, "name": ""}
        name = self._images.names[system][side][image]
        if name not in self.pictures:
            small = thumbnail(path_below(self._images.root, name))
            self.pictures[name] = {"picture": len(self.pictures), "name": name, **small}
        return self.pictures[name]


def queries(content: Page, cards: Cards) -> list[dict[str, Any]]:
    """Return the queries that the page shows, each with one list per system."""
    shown, per_query = [], content.systems[0].result.per_query
    for query in content.queries:
        why = [reason for reason, chosen in content.reasons.items() if query in chosen]
        shown.append({"query": query, "identity": per_query.identity[query],
                      "camera": per_query.camera[query], "why": ",".join(why),
                      "reasons": ", ".join(TABS[reason] for reason in why),
                      "lists": [_list(system, system.more.lists[query], cards)
                                for system in content.systems if system.more]})
    return shown


def _list(system: Reported, ranked: RankList, cards: Cards) -> dict[str, Any]:
    per_query, k = system.result.per_query, ranked.query
    first, n_good = int(per_query.first_match[k]), int(per_query.n_good[k])
    words = [f"AP {percent(float(per_query.ap[k]))}",
             f"first match at rank {first:,}" if first else "no match",
             f"{n_good:,} good image{'' if n_good == 1 else 's'}"]
    if per_query.status[k] != "ok":
        words.append(str(per_query.status[k]))

    def of_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
        return [cards.of_entry(system.name, entry) for entry in entries]

    return {"name": system.name, "words": ", ".join(words),
            "cards": [cards.of_query(system.name, ranked), *of_entries(ranked.entries)],
            "more_ignored": ranked.more_ignored, "n_good": n_good,
            "next": ranked.next_good and {
                "rank": f"{ranked.next_good.rank:,}", "card": of_entries([ranked.next_good])[0]},
            "good": of_entries(ranked.good)}


def tabs(content: Page) -> list[dict[str, Any]]:
    """Return the tabs that have queries."""
    return [{"why": reason, "name": name, "count": len(content.reasons[reason]),
             "meaning": MEANINGS[reason]}
            for reason, name in TABS.items() if content.reasons.get(reason)]
