"""Ranked lists: one row per query and system, each image in a frame that shows its role.

Colours and line styles of the frames differ, and captions have a mark, so that a role is visible
without colours.
"""
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import InputError, check_choice, check_count, optional_module
from reid_ref.disk import check_regular, write_whole
from reid_ref.drawing.style import SETTINGS, as_bytes, check_matplotlib, defaults, literal
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import (
    DISTRACTING, GOOD, IGNORED, WRONG, Entry, RankList, rank_lists)
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import Labels, check_distances

#: Colour and line style of the frame of each role.
FRAMES = {"query": ("#000000", "-"), GOOD: ("#009E73", "-"), WRONG: ("#D55E00", "--"),
          DISTRACTING: ("#E69F00", ":"), IGNORED: ("#555555", "-.")}
MARKS = {GOOD: "\u25cf", WRONG: "\u2715", DISTRACTING: "\u25b2", IGNORED: "\u25a8"}
#: Spaces after the query and before the next good image, and between others, in image widths.
WIDE_GAP, GAP = 0.4, 0.14
#: Inches around the figure, of the title of a row, and of the key.
MARGIN, TITLE, KEY = 0.08, 0.2, 0.3
#: Inches of the widest image, and dots per inch of images.
WIDEST, DPI = 1.0, 300
#: What is opened: the formats of Pillow that no other program decodes, and the largest image.
KINDS = ("JPEG", "PNG", "BMP", "PPM", "TIFF", "WEBP")
MOST_PIXELS = 25_000_000
# Pillow logs what is wrong with a file, and without a handler that is printed on stderr.
logging.getLogger("PIL").addHandler(logging.NullHandler())
#: Height of an image by its width, if there are no images, and least and most.
SHAPE, FLATTEST, TALLEST = 1.0, 0.75, 2.5


class ListRow(NamedTuple):
    """One row of the figure; images are paths, those of the gallery by their number."""

    title: str
    ranked: RankList
    query_image: str | None = None
    gallery_images: Mapping[int, str] | None = None


class Framed(NamedTuple):
    """One image of a row: its left edge in image widths, its role, path and caption."""

    left: float
    role: str
    path: str | None
    caption: list[str]


def draw_rank_lists(rows: Sequence[ListRow], width: float,
                    size: tuple[float, float] | None = None) -> Any:
    """Return a figure of this width in inches, or with images of this size in inches.

    Each image is read when it is drawn, and reduced to the dots that it has in the figure.
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    framed = [list(_framed(row)) for row in rows]
    units = 1 + max(images[-1].left for images in framed)
    if size is None:
        shape, path = SHAPE, rows[0].query_image
        if path is not None:
            image = read_image(path)
            shape = min(TALLEST, max(FLATTEST, image.height / image.width))
        image_width = min(WIDEST, (width - 2 * MARGIN) / units)
        size = image_width, image_width * shape
    else:
        width = units * size[0] + 2 * MARGIN
    lines = [line for images in framed for image in images for line in image.caption]
    letters = min(7.0, 72 * (1 + GAP) * size[0] / (0.6 * max(map(len, lines))))
    caption = max(len(image.caption) for images in framed for image in images) * letters / 64
    row_height = TITLE + size[1] + caption + MARGIN
    height = row_height * len(rows) + KEY
    with defaults(**SETTINGS):
        figure = Figure(figsize=(width, height))
        ax = figure.add_axes((0, 0, 1, 1))
        for k, (row, images) in enumerate(zip(rows, framed)):
            top = k * row_height + TITLE
            ax.text(MARGIN, top - 0.05, literal(row.title), fontsize=8)
            for image in images:
                _draw(ax, image, (MARGIN + image.left * size[0], top), size, letters)
        _add_key(ax, {image.role for images in framed for image in images})
        if not any(image.path for images in framed for image in images):
            ax.text(width - MARGIN, height - MARGIN, "no images given: --images ROOT shows them",
                    fontsize=7, ha="right", va="bottom")
        ax.set(xlim=(0, width), ylim=(height, 0), aspect="auto")
        ax.axis("off")
    return figure


def _framed(row: ListRow) -> Iterator[Framed]:
    """Yield the images of a row from left to right."""
    ranked, paths = row.ranked, row.gallery_images or {}
    yield Framed(0, "query", row.query_image,
                 ["query", f"id {ranked.identity}", *_camera(ranked.camera)])
    left = 1 + WIDE_GAP
    for entry in ranked.entries:
        yield Framed(left, entry.role, paths.get(entry.image), _caption(entry))
        left += 1 + GAP
    if ranked.next_good:
        yield Framed(left + WIDE_GAP - GAP, GOOD, paths.get(ranked.next_good.image),
                     _caption(ranked.next_good))


def _caption(entry: Entry) -> list[str]:
    place = "-" if entry.rank is None else f"{entry.rank:,}"
    return [f"{MARKS[entry.role]} {place}", f"d {entry.distance:.4g}", f"id {entry.identity}",
            *_camera(entry.camera), *entry.reason.split()]


def _camera(camera: int | str | None) -> list[str]:
    return [] if camera is None else [f"cam {camera}"]


def _draw(ax: Any, image: Framed, corner: tuple[float, float], size: tuple[float, float],
          letters: float) -> None:
    from matplotlib.patches import Rectangle

    (left, top), (width, height) = corner, size
    colour, style = FRAMES[image.role]
    line = max(1.0, 4 * width)
    inset = line / 72   # so that dashes have a white ground
    if image.path is not None:
        dots = (max(1, round(DPI * side)) for side in size)
        ax.imshow(np.asarray(read_image(image.path).resize(tuple(dots), 2)),  # 2: bilinear
                  extent=(left + inset, left + width - inset, top + height - inset, top + inset),
                  interpolation="none")
    ax.add_patch(Rectangle(corner, width, height, edgecolor=colour, linestyle=style,
                           linewidth=line, facecolor="none"))
    ax.text(left, top + height + 0.04, "\n".join(image.caption), fontsize=letters, va="top",
            linespacing=1.05)


def _add_key(ax: Any, roles: set[str]) -> None:
    from matplotlib.patches import Rectangle

    handles = [Rectangle((0, 0), 1, 1, fill=False, edgecolor=FRAMES[role][0], linewidth=1.5,
                         linestyle=FRAMES[role][1], label=f"{mark} {role}")
               for role, mark in MARKS.items() if role in roles]
    ax.legend(handles=handles, loc="lower left", ncols=len(MARKS), fontsize=7, frameon=False,
              handlelength=1.6, handleheight=1.6, borderaxespad=0.4)


def read_image(path: str) -> Any:
    """Return an image of Pillow, in RGB.

    Raises
    ------
    InputError
        It is of no kind in `KINDS`, too large, or damaged.
    """
    Image = optional_module("images", "PIL.Image")
    try:
        check_regular(path)
        # No other kind: Pillow would start Ghostscript on PostScript in a .jpg.
        with Image.open(path, formats=KINDS) as image:
            if image.width * image.height <= MOST_PIXELS:
                image.load()
                image.info.pop("transparency", None)  # Pillow warns of what it drops
                return image.convert("RGB")
        got = f"{image.width:,} x {image.height:,} pixels"
    except (OSError, ValueError, SyntaxError, MemoryError, Image.DecompressionBombError) as error:
        if isinstance(error, InputError):
            raise
        got = f"a file that cannot be decoded ({type(error).__name__})"
    raise InputError(path, f"an image of at most {MOST_PIXELS:,} pixels", got,
                     "replace it, or leave images out")


def visualize_ranked_results(distmat: Any, dataset: Any, data_type: str, width: int = 128,
                             height: int = 256, save_dir: str | os.PathLike[str] = "",
                             topk: int = 10) -> None:
    """Write one picture per query, as torchreid's function of this name.

    The arguments and the names of the files are torchreid's. Good images have a green frame,
    wrong ones a dashed red one. Images that torchreid's evaluator ignores (the query's identity on
    its own camera, label -1) are shown in their places with a grey frame, and do not count in
    `topk`. Equal distances keep the order of the gallery.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
        Smaller is nearer.
    dataset : (query, gallery)
        Two lists of (path, pid, camid), or more fields; a path may be a list of a tracklet's
        images, of which the first is shown.
    data_type : {"image", "video"}
    width, height : int
        Of each image, in pixels.
    save_dir : path
        Folder, made if it is missing.
    topk : int

    Raises
    ------
    InputError
        Lists that do not fit the distances, a path that is no image, or matplotlib is missing.

    References
    ----------
    KaiyangZhou/deep-person-reid, torchreid/utils/reidtools.py.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("q", "a", "b"):
    ...         Image.new("RGB", (4, 8)).save(os.path.join(folder, f"{name}.png"))
    ...     rows = [(os.path.join(folder, f"{n}.png"), 7, k) for k, n in enumerate("qab")]
    ...     visualize_ranked_results([[.1, .2]], (rows[:1], rows[1:]), "image",
    ...                              save_dir=os.path.join(folder, "seen"))
    ...     os.listdir(os.path.join(folder, "seen"))
    ['q.jpg']
    """
    check_matplotlib()
    check_choice(data_type, "data_type", ("image", "video"))
    for name, value in (("width", width), ("height", height), ("topk", topk)):
        check_count(value, name)
    (queries, query), (images, gallery) = (
        _paths_and_labels(rows, name) for name, rows in zip(("query", "gallery"), dataset))
    distances = check_distances(distmat, query, gallery)
    data = ResultFile("arrays", query, gallery, distances=distances)
    os.makedirs(save_dir or os.curdir, exist_ok=True)
    for path, ranked in zip(queries, rank_lists(data, range(len(query)), How(), topk)):
        stem = os.path.splitext(os.path.basename(path))[0]
        row = ListRow(stem, replace(ranked, next_good=None), path, dict(enumerate(images)))
        picture = as_bytes(draw_rank_lists([row], 0, (width / DPI, height / DPI)), ".jpg")
        write_whole(os.path.join(save_dir, f"{stem}.jpg"), picture)


def _paths_and_labels(rows: Any, side: str) -> tuple[list[str], Labels]:
    """Return the first path of each of torchreid's records, and their labels."""
    paths = []
    for k, row in enumerate(rows):
        if not isinstance(row, (tuple, list)) or len(row) < 3:
            raise InputError("dataset", got=f"{side}: row {k}: expected (path, pid, camid), got "
                             f"{str(row)[:60]}")
        paths.append(os.fspath(row[0][0] if isinstance(row[0], (tuple, list)) else row[0]))
    return paths, Labels(*([int(row[column]) for row in rows] for column in (1, 2)))
