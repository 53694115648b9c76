"""The images of rank lists, as small pictures with what is known of each."""
import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

from reid_ref.drawing.rank_lists import MARKS, read_image
from reid_ref.evaluation.how import Progress
from reid_ref.evaluation.rank_lists import Entry, RankList
from reid_ref.files.image_names import path_below

#: The folder of the images, and their names below it: of each system those of both sides.
Images = tuple[str, Mapping[str, tuple[Sequence[str], Sequence[str]]]]
#: Pictures fit in here: upright people, wide vehicles.
UPRIGHT, WIDE = (64, 128), (96, 96)
QUALITY = 75


class Cards:
    """Makes the cards of a page; an image is read when the first card shows it."""

    def __init__(self, images: Images | None, progress: Progress) -> None:
        self._images, self._progress = images, progress
        #: By name; `picture` is the number on the page.
        self.pictures: dict[str, dict[str, Any]] = {}

    def of_query(self, system: str, ranked: RankList) -> dict[str, Any]:
        """Return the card of a query."""
        self._progress(1)
        return {"role": "query", "mark": "Query", "facts": [_who(ranked)],
                "cells": [], **self._picture(system, 0, ranked.query)}

    def of_entry(self, system: str, entry: Entry) -> dict[str, Any]:
        """Return the card of a gallery image."""
        mark = f"{MARKS[entry.role]} {entry.role[0].upper()}"
        if entry.rank is not None:
            mark += f" {entry.rank:,}"
        return {"role": entry.role, "image": entry.image, "mark": mark,
                "facts": [_who(entry), f"d {entry.distance:.4g}",
                          *([entry.reason] if entry.reason else [])],
                "cells": [mark, entry.identity, entry.camera, f"{entry.distance:.4g}",
                          entry.reason],
                **self._picture(system, 1, entry.image)}

    def _picture(self, system: str, side: int, image: int) -> dict[str, Any]:
        if self._images is None:
            return {"picture": None, "name": ""}
        root, names = self._images
        name = names[system][side][image]
        if name not in self.pictures:
            small = thumbnail(path_below(root, name))
            self.pictures[name] = {"picture": len(self.pictures), "name": name, **small}
        return self.pictures[name]


def _who(image: RankList | Entry) -> str:
    return f"{image.identity}" + ("" if image.camera is None else f" c{image.camera}")


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
