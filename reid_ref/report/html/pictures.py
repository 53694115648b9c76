"""Which images a page shows, and the small pictures of them, each once."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reid_ref.analysis.page import Page
from reid_ref.analysis.rank_lists import RankList
from reid_ref.files.images import path_below
from reid_ref.report.html.data import MOST_ROWS
from reid_ref.report.html.thumbnails import Thumbnail, thumbnail

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
