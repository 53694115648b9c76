"""Labels stay the numbers that were handed in: no rounding, no lost mask, nothing merged."""
from __future__ import annotations

import numpy as np
import pytest

from reid_ref import InputError, Labels, evaluate, evaluate_distances
from reid_ref.files import read_result


@pytest.mark.parametrize(("dtype", "digits"), [("f2", 11), ("f4", 24), ("f8", 53), (">f4", 24),
                                               (np.longdouble, 53)])
@pytest.mark.parametrize("sign", [1, -1])
def test_floats_that_lack_whole_numbers_are_refused(dtype, digits, sign):
    exact = np.array([1, sign * (2**digits - 1)], dtype)
    assert Labels(exact, [1, 1]).identity.tolist() == [1, sign * (2**digits - 1)]
    merged = np.array([1, sign * 2**digits], dtype)
    with pytest.raises(InputError, match=(
            rf"identity: expected whole numbers below 2\^{digits} in .*, got {sign * 2**digits} "
            "at index 1; beyond it different labels become one: save them as int64")):
        Labels(merged, [1, 1])
    with pytest.raises(InputError, match=rf"camera: expected whole numbers below 2\^{digits}"):
        Labels([1, 1], merged)


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
    for word, message in (("9007199254740993.0", r"below 2\^53 in float64"),
                          ("9" * 19, "does not fit a 64-bit integer"),
                          ("9" * 5000, "expected whole numbers, got inf at index 1")):
        paths = write_texts(tmp_path, f"3\n{word}\n", "3\n")
        with pytest.raises(InputError, match=f"query_id.txt: .*{message}"):
            read_result(*paths)


MASKED = np.ma.array([1, 2, 3], mask=[False, True, False])


@pytest.mark.parametrize(("value", "count"), [
    (MASKED, 1), (MASKED.astype(float), 1), (MASKED[np.newaxis], 1), ([MASKED], 1),
    ([[1, 2, 3], MASKED], 1), ([MASKED, MASKED], 2), ((MASKED, [1, 2, 3]), 1),
    ([[[1, 2, 3]], [MASKED]], 1), (np.ma.masked_all((2, 3)), 6)])
@pytest.mark.parametrize("argument", ["identity", "features", "distances"])
def test_masked_entries_are_refused(value, count, argument):
    three = Labels([1, 2, 3], [1, 1, 1])
    with pytest.raises(InputError, match=(
            f"expected an array without masked entries, got {count} of them; leave out these")):
        if argument == "identity":
            Labels(value, [1, 1, 1])
        elif argument == "features":
            evaluate(np.eye(3), value, three, three)
        else:
            evaluate_distances(value, three, three)


def test_a_masked_array_that_masks_nothing_is_an_array():
    assert Labels(np.ma.array([1, 2]), [np.ma.array([1, 2], mask=False)]).camera.tolist() == [1, 2]
