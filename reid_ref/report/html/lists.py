"""Ranked lists as the template shows them."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reid_ref.analysis.page import Page, System
from reid_ref.analysis.rank_lists import REASONS, Entry, RankList
from reid_ref.report.html.pictures import Images
from reid_ref.report.html.thumbnails import Thumbnail
from reid_ref.words import percent

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
