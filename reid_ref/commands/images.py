"""The options that say where images are, of `report` and `rank-list`."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reid_ref.evaluation.result_file import ResultFile


def add_images(command: argparse.ArgumentParser) -> None:
    either = command.add_mutually_exclusive_group()
    either.add_argument("--images", metavar="ROOT",
                        help="folder of the images: names are those in the result file, else "
                             "those in its folders, in sorted order or in that of torchvision's "
                             "ImageFolder; they must say the identity and camera of the labels")
    either.add_argument("--no-images", action="store_true", help="no pictures (default)")
    for side in ("query", "gallery"):
        command.add_argument(f"--{side}-names", metavar="FILE",
                             help=f"names of the {side} images below ROOT, one a line, in the "
                                  "order of the features")


def check_images(args: argparse.Namespace) -> None:
    """Refuse names of images where there are none."""
    from reid_ref.arrays import InputError

    if args.images is None and (args.query_names or args.gallery_names):
        raise InputError("--query-names, --gallery-names: expected --images ROOT, the folder that "
                         "they are below")


def image_names(args: argparse.Namespace, files: Sequence[str],
                data: ResultFile) -> tuple[list[str], list[str]]:
    """Return the names of both sides, which fit the labels."""
    from reid_ref.datasets.image_names import check_names
    from reid_ref.files.images import names_of_side

    query = names_of_side("query", len(data.query), files, args.images, args.query_names)
    gallery = names_of_side("gallery", len(data.gallery), files, args.images, args.gallery_names)
    check_names(query, data.query, "query")
    check_names(gallery, data.gallery, "gallery")
    return query, gallery
