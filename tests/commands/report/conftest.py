"""What the tests of the page share: a data set with images, and pages of it."""
import warnings

import pytest

from reid_ref.cli import main
from tests.commands.report.seen import images_of, market, names_of, write_images, write_result


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The folder of two results with images, pages of one and of both; the labels."""
    root = tmp_path_factory.mktemp("made")
    query, gallery = market()
    for file, seed in (("a.npz", 1), ("b.npz", 2)):
        write_result(root / file, query, gallery, seed, noise=1.6)
    for side, labels, folder in (("query", query, "query"),
                                 ("gallery", gallery, "bounding_box_test")):
        names = names_of(labels, folder)
        write_images(root, names, labels)
        (root / f"{side}.txt").write_text("\n".join(names) + "\n")
    for page, files, more in (("one.html", ["a.npz"], []), ("two.html", ["a.npz", "b.npz"], []),
                              ("none.html", ["a.npz"], ["--queries", "0"])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert main(["report", *(str(root / file) for file in files), "-o", str(root / page),
                         *images_of(root), *more]) == 0
    return root, query, gallery
