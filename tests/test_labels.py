"""Labels stay the numbers that were handed in: no rounding, no lost mask, nothing merged."""
from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from reid_ref import Labels, evaluate, evaluate_distances, evaluate_ranked_lists
from reid_ref.files import read_result
from reid_ref.labels import fingerprint
from tests.refusals import refused


@pytest.mark.parametrize(("dtype", "digits"), [("f2", 11), ("f4", 24), ("f8", 53), (">f4", 24),
                                               (np.longdouble, 53)])
@pytest.mark.parametrize("sign", [1, -1])
def test_floats_that_lack_whole_numbers_are_refused(dtype, digits, sign):
    exact = np.array([1, sign * (2**digits - 1)], dtype)
    assert Labels(exact, [1, 1]).identity.tolist() == [1, sign * (2**digits - 1)]
    merged = np.array([1, sign * 2**digits], dtype)
    error = refused("identity", f"below 2^{digits} in ", Labels, merged, [1, 1])
    assert error.got == f"{sign * 2**digits} at index 1" and "int64" in error.remedy
    refused("camera", f"below 2^{digits} in ", Labels, [1, 1], merged)


def test_integers_of_64_bits_are_exact():
    assert Labels([2**53 + 1, -2**63, 2**63 - 1], [1, 2, 3]).identity.tolist() == [
        2**53 + 1, -2**63, 2**63 - 1]


def write_texts(folder, query_id, gallery_id):
    n_query, n_gallery = len(query_id.split()), len(gallery_id.split())
    texts = {"dist": "\n".join([" ".join(map(str, range(n_gallery)))] * n_query),
             "query_id": query_id, "query_cam": "1\n" * n_query,
             "gallery_id": gallery_id, "gallery_cam": "2\n" * n_gallery}
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return [folder / f"{name}.txt" for name in texts]


@pytest.mark.parametrize("separator", ["\n", " "])
def test_text_keeps_64_bits(tmp_path, separator):
    numbers = [2**53, 2**53 + 1, -2**63, 2**63 - 1]
    text = separator.join(map(str, numbers))
    result = read_result(*write_texts(tmp_path, text, text))
    assert result.distances.dtype == np.float64
    assert result.query.identity.tolist() == result.gallery.identity.tolist() == numbers
    answer = evaluate_distances(result.distances, result.query, result.gallery)
    assert answer.per_query.n_good.tolist() == [1, 1, 1, 1]


def test_text_with_floats_or_too_many_digits(tmp_path):
    paths = write_texts(tmp_path, "3.0\n5e0\n", "+3\n-1\n5.\n")
    assert read_result(*paths).gallery.identity.tolist() == [3, -1, 5]
    for word, noun in (("9007199254740993.0", "below 2^53 in float64"),
                       ("9" * 19, "64-bit integer"), ("9" * 5000, "inf at index 1")):
        paths = write_texts(tmp_path, f"3\n{word}\n", "3\n")
        refused("query_id.txt", noun, read_result, *paths)


MORE = {"clothes": [3, 4, 3], "view": np.array([1., 2, 2]), "video": [[9], [9], [8]],
        "frame": np.uint8([5, 6, 7]), "name": ["a.jpg", "bc.jpg", "d.jpg"]}


@pytest.mark.parametrize("images", [slice(1, 3), [2, 0], np.array([True, False, True])])
def test_further_columns_are_sliced_with_the_rest(images):
    labels, columns = Labels([7, 7, -1], [1, 2, 1], **MORE), {"identity": [7, 7, -1], **MORE}
    part = labels[images]
    for name, values in columns.items():
        own = getattr(part, name)
        assert own.tolist() == np.ravel(values)[images].tolist() and not own.flags.writeable
        assert own.dtype == np.int64 or name == "name"
    assert part.camera.tolist() == np.array([1, 2, 1])[images].tolist()
    assert Labels([7], [1], clothes=[2])[:1].columns().keys() == {"identity", "camera", "clothes"}


def test_columns_that_are_not_there():
    labels = Labels([7, -1], [1, 2])
    assert [getattr(labels, name) for name in MORE] == [None] * 5
    assert repr(labels) == "Labels(identity=array([ 7, -1]), camera=array([1, 2]))"
    assert "view=array([1, 2])" in repr(Labels([7, -1], [1, 2], view=[1, 2]))


@pytest.mark.parametrize(("column", "value", "argument", "noun"), [
    ("clothes", [1], "clothes", "2 entries, one for each image"),
    ("video", [1, 2.5], "video", "whole numbers"),
    ("name", [1, 2], "name", "text, one name per image"),
    ("name", np.array(["a", None]), "name", "text, one name per image")])
def test_further_columns_are_checked(column, value, argument, noun):
    refused(argument, noun, Labels, [1, 2], [1, 2], **{column: value})


def test_names_in_labels_are_the_names_in_ranked_lists():
    query = Labels([7], [1], name=[Path("query/q.jpg")])
    gallery = Labels([7, 8], [2, 2], name=["a.jpg", "b.jpg"])
    for ranked, options in (({"q": ["b", "a"]}, {}), ([["b.jpg", "a.jpg"]], {}), ([[1, 0]], {}),
                            ([["y", "x"]], {"gallery_names": ["x", "y"]})):
        assert evaluate_ranked_lists(ranked, query, gallery, **options).rank(1) == 0
    twice = Labels([7, 8], [2, 2], name=["a", "a"])     # of no use here, and no harm
    assert evaluate_ranked_lists([[0, 1]], query, twice).rank(1) == 1


MASKED = np.ma.array([1, 2, 3], mask=[False, True, False])


@pytest.mark.parametrize(("value", "count"), [
    (MASKED, 1), (MASKED.astype(float), 1), (MASKED[np.newaxis], 1), ([MASKED], 1),
    ([[1, 2, 3], MASKED], 1), ((MASKED, MASKED), 2),
    (np.ma.masked_all((2, 3)), 6)])
@pytest.mark.parametrize("argument", ["identity", "gallery_features", "distances"])
def test_masked_entries_are_refused(value, count, argument):
    three = Labels([1, 2, 3], [1, 1, 1])
    call, arguments = {"identity": (Labels, (value, [1, 1, 1])),
                       "gallery_features": (evaluate, (np.eye(3), value, three, three)),
                       "distances": (evaluate_distances, (value, three, three))}[argument]
    assert refused(argument, "masked", call, *arguments).got == f"{count} of them"


def test_a_masked_array_that_masks_nothing_is_an_array():
    assert Labels(np.ma.array([1, 2]), [np.ma.array([1, 2], mask=False)]).camera.tolist() == [1, 2]


def test_a_fingerprint_is_the_crc_of_eight_bytes_each():
    content = (7).to_bytes(8, "little") + (-1).to_bytes(8, "little", signed=True)
    assert fingerprint(Labels([7, -1], [1, 2]).identity) == f"{zlib.crc32(content):08x}"
    assert fingerprint(np.zeros(0, np.int64)) == ""


@pytest.mark.parametrize("order", "<>")
def test_names_that_are_no_unicode_are_refused(order):
    """numpy makes a str of them that Python cannot take apart (SystemError)."""
    names = np.array(["a.jpg", "bä.jpg"]).astype(f"{order}U6")
    assert Labels([1, 2], [1, 1], name=names).name.tolist() == ["a.jpg", "bä.jpg"]
    nameless = np.ndarray(2, f"{order}U0", b"")  # as a .npy file may have it
    assert Labels([1, 2], [1, 1], name=nameless).name.tolist() == ["", ""]
    names.view(f"{order}u4")[3] = 0x110000
    refused("name", "text in Unicode", Labels, [1, 2], [1, 1], name=names)
