"""Images: which libraries draw them, how they are read, small ones as data: URIs."""
from __future__ import annotations

import base64
import io
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from reid_ref.arrays import InputError

#: Pictures fit in here: upright people, wide vehicles.
UPRIGHT, WIDE = (64, 128), (96, 96)
QUALITY = 75
#: Modules that a page needs, and what installs them.
NEEDS = {"jinja2": "jinja2", "matplotlib": "matplotlib", "PIL": "pillow"}


def check_libraries(*modules: str) -> None:
    """Refuse, before any work, what could not be drawn for want of a library."""
    missing = [NEEDS[name] for name in modules or NEEDS if find_spec(name) is None]
    if missing:
        raise InputError(f"report: needs {', '.join(missing)}, not installed here; "
                         'pip install "reid-ref[report]"')


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
        raise InputError(f"{path}: expected an image, got a file that cannot be decoded "
                         f"({type(error).__name__}); replace it, or leave the images out with "
                         "--no-images") from None


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
