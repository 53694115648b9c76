"""Ranked lists as pictures: the query and its nearest images, framed by their role.

Conventions: green is right and red is wrong, as in torchreid; ignored images have a grey hatched
frame. A mark in the corner says the same without colours: a filled disc, a cross, lines.
"""
from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, check_count
from reid_ref.evaluation.how import How
from reid_ref.disk import whole_files
from reid_ref.evaluation.rank_lists import DISTRACTING, GOOD, IGNORED, WRONG, RankList, rank_lists
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import Labels, check_distances

#: Pictures fit in here: upright people, wide vehicles.
UPRIGHT, WIDE = (64, 128), (96, 96)
QUALITY = 75
#: Modules that a page needs, and what installs them.
NEEDS = {"jinja2": "jinja2", "matplotlib": "matplotlib", "PIL": "pillow"}


def check_libraries(*modules: str) -> None:
    """Refuse, before any work, what could not be drawn for want of a library."""
    missing = [NEEDS[name] for name in modules or NEEDS if find_spec(name) is None]
    if missing:
        raise InputError("report", got=f"needs {', '.join(missing)}, not installed here",
                         remedy='pip install "reid-ref[report]"')


@dataclass(frozen=True)
class Thumbnail:
    """One small picture."""

    uri: str
    width: int
    height: int


def read_image(path: str) -> Any:
    """Return an image of Pillow, in RGB.

    Raises
    ------
    InputError
        It cannot be decoded.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError,
            Image.DecompressionBombWarning) as error:
        raise InputError(
            path, "an image", f"a file that cannot be decoded ({type(error).__name__})",
            "replace it, or leave the images out") from None


def thumbnail(path: str, pixelate: int | None = None) -> Thumbnail:
    """Return an image as a small JPEG; `pixelate`: blocks that its width is reduced to."""
    from PIL import Image

    image = read_image(path)
    box = UPRIGHT if image.height >= image.width else WIDE
    factor = min(box[0] / image.width, box[1] / image.height)
    size = tuple(max(1, round(factor * side)) for side in image.size)
    if pixelate is not None:
        blocks = (pixelate, max(1, round(pixelate * size[1] / size[0])))
        image = image.resize(blocks, Image.Resampling.BOX).resize(size, Image.Resampling.NEAREST)
    else:
        image = image.resize(size, Image.Resampling.BILINEAR)
    data = io.BytesIO()
    image.save(data, "JPEG", quality=QUALITY)
    return Thumbnail(f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}",
                     *size)


COLOURS = {GOOD: (0, 150, 60), WRONG: (210, 30, 30), DISTRACTING: (200, 130, 0),
           IGNORED: (130, 130, 130), "query": (20, 20, 20)}
#: Pixels: frame, gap between images, gap behind the query, line of text.
FRAME, GAP, QUERY_GAP, LINE = 5, 10, 40, 14
#: Suffixes of a picture.
SUFFIXES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}


@dataclass(frozen=True)
class Cell:
    """One image of a picture: its path or None, its role, and the lines below it."""

    path: str | None
    role: str
    lines: tuple[str, ...]


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a picture that could not be made."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(os.fspath(path), f"a name that ends in {', '.join(SUFFIXES)}")
    check_libraries("PIL")


def save_rank_list(one: RankList, path: str | os.PathLike[str],
                   query_path: str | None = None, gallery_paths: dict[int, str] | None = None,
                   size: tuple[int, int] = (128, 256)) -> None:
    """Write one ranked list as a picture.

    Parameters
    ----------
    one : RankList
    path : str or path
        Ends in .png or .jpg.
    query_path : str, optional
        The query's image.
    gallery_paths : dict of int to str, optional
        Images by gallery index.
    size : (int, int)
        Width and height of each image, in pixels.
    """
    check_picture(path)
    paths = gallery_paths or {}
    cells = [Cell(query_path, "query", (f"query {one.query}", f"id {one.identity}",
                                        f"camera {one.camera}"))]
    entries = [*one.entries, *([one.next_good] if one.next_good else [])]
    for entry in entries:
        rank = f"rank {entry.rank:,}" if entry.rank is not None else entry.reason
        cells.append(Cell(paths.get(entry.image), entry.role, (
            rank, f"d {entry.distance:.4g}", f"id {entry.identity}", f"camera {entry.camera}",
            entry.role)))
    save_cells(cells, path, size)


def save_cells(cells: Sequence[Cell], path: str | os.PathLike[str],
               size: tuple[int, int]) -> None:
    """Write a row of images, whole or not at all; the first is the query."""
    picture = _picture(cells, size)
    with whole_files(path, mode="wb") as (file,):
        picture.save(file, SUFFIXES[Path(path).suffix.lower()])


def _picture(cells: Sequence[Cell], size: tuple[int, int]) -> Any:
    from PIL import Image, ImageDraw

    width, height = size
    n_lines = max(len(cell.lines) for cell in cells)
    full = len(cells) * (width + GAP) - GAP + (QUERY_GAP if len(cells) > 1 else 0)
    picture = Image.new("RGB", (full, height + 4 + n_lines * LINE), "white")
    draw = ImageDraw.Draw(picture)
    left = 0
    for k, cell in enumerate(cells):
        picture.paste(_framed(cell, size), (left, 0))
        for line, text in enumerate(cell.lines):
            draw.text((left, height + 4 + line * LINE), text, fill=COLOURS[cell.role])
        left += width + GAP + (QUERY_GAP if k == 0 else 0)
    return picture


def _framed(cell: Cell, size: tuple[int, int]) -> Any:
    """Return the image of a cell in its frame, with a mark of its role."""
    from PIL import Image, ImageDraw

    width, height = size
    framed = Image.new("RGB", size, COLOURS[cell.role])
    if cell.role == IGNORED:
        draw = ImageDraw.Draw(framed)
        for start in range(-height, width, 6):
            draw.line([(start, height), (start + height, 0)], fill="white", width=2)
    inner = (max(1, width - 2 * FRAME), max(1, height - 2 * FRAME))
    image = (Image.new("RGB", inner, (235, 235, 235)) if cell.path is None
             else read_image(cell.path).resize(inner, Image.Resampling.BILINEAR))
    framed.paste(image, (FRAME, FRAME))
    _mark(ImageDraw.Draw(framed), cell.role)
    return framed


def _mark(draw: Any, role: str) -> None:
    left, right, middle = FRAME + 3, FRAME + 15, FRAME + 9
    colour = COLOURS[role]
    if role == GOOD:
        draw.ellipse([left, left, right, right], fill=colour, outline="white")
    elif role == WRONG:
        for shade, width in (("white", 5), (colour, 3)):
            draw.line([left, left, right, right], fill=shade, width=width)
            draw.line([left, right, right, left], fill=shade, width=width)
    elif role == DISTRACTING:
        draw.polygon([middle, left, right, right, left, right], fill=colour, outline="white")
    elif role == IGNORED:
        draw.rectangle([left, left, right, right], fill="white", outline=colour)
        draw.line([left, right, right, left], fill=colour, width=2)


def visualize_ranked_results(distmat: Any, dataset: Any, data_type: str, width: int = 128,
                             height: int = 256, save_dir: str | os.PathLike[str] = "",
                             topk: int = 10) -> None:
    """Write one picture a query, as torchreid's function of this name: green right, red wrong.

    The arguments and the names of the files are torchreid's. Images that its evaluator ignores
    (the query's identity on its own camera, label -1) are shown in their places with a grey
    hatched frame, and do not count in `topk`. Equal distances keep the order of the gallery.

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
        Folder, made where it is missing.
    topk : int

    Raises
    ------
    InputError
        Lists that do not fit the distances, a path that is no image, or Pillow is missing.

    Source
    ------
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
    check_libraries("PIL")
    if data_type not in ("image", "video"):
        raise InputError("data_type", "'image' or 'video'", repr(data_type))
    for name, value in (("width", width), ("height", height), ("topk", topk)):
        check_count(value, name)
    query, gallery = ([_record(row, name, k) for k, row in enumerate(rows)] for name, rows in zip(
        ("dataset: query", "dataset: gallery"), dataset))
    own, others = (Labels(np.array([row[1] for row in rows]), np.array([row[2] for row in rows]))
                   for rows in (query, gallery))
    data = ResultFile("arrays", own, others, distances=check_distances(distmat, own, others))
    os.makedirs(save_dir or os.curdir, exist_ok=True)
    for one in rank_lists(data, range(len(query)), How(), topk):
        path = query[one.query][0]
        stem = os.path.splitext(os.path.basename(path))[0]
        save_rank_list(
            _without_next(one), os.path.join(save_dir, f"{stem}.jpg"), path,
            {entry.image: gallery[entry.image][0] for entry in one.entries}, (width, height))


def _record(row: Any, name: str, k: int) -> tuple[str, int, int]:
    if not isinstance(row, (tuple, list)) or len(row) < 3:
        raise InputError(f"{name}: row {k}", "(path, pid, camid)", str(row)[:60])
    path = row[0][0] if isinstance(row[0], (tuple, list)) else row[0]
    return os.fspath(path), int(row[1]), int(row[2])


def _without_next(one: RankList) -> RankList:
    return RankList(one.query, one.identity, one.camera, one.entries, one.more_ignored, None, ())
