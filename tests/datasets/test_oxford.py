"""Oxford's compute_ap: its digits, its files, and what is said where they do not fit.

The real ranked lists are read where they are: see `tests.shared`.
"""
from pathlib import Path

import numpy as np
import pytest

from reid_ref.datasets import oxford
from tests.commands.common import assert_one_line_error, command
from tests.refusals import refused
from tests.shared import shared

RANKED = ("result_orb_top50", "result_orb_top2000", "result_sift_top50_k20_bfcrosscheck")

#: Positives that exist, places of those found, and what compute_ap itself (g++ -O2) has in its
#: float. Neither double nor single precision throughout gives the last digits of these.
ANSWERS = [
    (3, [5, 18], "0.0616557784"),
    (7, [24, 28], "0.0107237352"),
    (21, [7, 9, 21, 29, 30, 32, 33, 35, 55, 56, 58, 63, 68, 69], "0.109924078"),
    (3, [6, 11], "0.0747474805"),
    (78, [43, 62, 98, 102, 111, 114, 206, 218, 232, 237, 241], "0.00476675481"),
    (54, [6, 12, 13, 18, 20, 24, 26, 39, 42, 43, 44, 54, 61, 67], "0.0521710888"),
    (78, [3, 5, 10, 24, 65, 73, 95, 103, 108, 109, 145, 163, 169, 170], "0.0211869143"),
    (78, [2, 6, 13, 15, 22, 23, 30, 31, 33, 35, 36, 39, 45, 46], "0.0459338203"),
    (5, [1, 3, 4], "0.458333373"),
    (3, [2], "0.0833333358"),
    (4, [1, 2, 3, 4], "1"),
    (2, [], "0"),
]


def run(*arguments):
    """Run `reid-ref oxford`: exit code, stdout, stderr."""
    done = command("oxford", *arguments)
    return done.returncode, done.stdout, done.stderr


def fails(*arguments):
    """The command fails with one line, which the last argument describes."""
    assert_one_line_error(command("oxford", *arguments[:-1]), arguments[-1])


def write_query(folder, name, good=(), ok=(), junk=(), ranked=None):
    for kind, names in (("good", good), ("ok", ok), ("junk", junk)):
        (folder / f"{name}_{kind}.txt").write_text("".join(f"{one}\n" for one in names))
    if ranked is not None:
        (folder / f"{name}_top.txt").write_text("\n".join(ranked))
    return folder / name


@pytest.mark.parametrize(("n_positive", "places", "answer"), ANSWERS)
def test_answers_of_compute_ap(n_positive, places, answer):
    ranked = [f"wrong{place}" for place in range(1, 1 + max(places, default=3))]
    for k, place in enumerate(places):
        ranked[place - 1] = f"p{k}"
    positive = {f"p{k}" for k in range(n_positive)}
    ap = oxford.oxford_average_precision(positive, (), ranked)
    assert ap.dtype == np.float32 and f"{ap:.9g}" == answer


def test_what_counts_and_what_does_not():
    def ap(*arguments):
        return float(oxford.oxford_average_precision(*arguments))
    assert ap("ab".split() + ["a"], [], ["ab", "a"]) == 1
    assert ap({"a", "b"}, {"a"}, ["a", "b"]) == 0.5  # a is junk, and still exists for recall
    assert ap({"a", "b"}, [], ["a"]) == 0.5          # b is not in the list
    assert ap(["a", "a"], [], ["a"]) == 1            # named twice, exists once
    assert ap({"a"}, {"a"}, ["a"]) == 0


@pytest.mark.parametrize(("arguments", "argument", "noun"), [
    (((), (), ["a"]), "positive", "at least one name"),
    (("a", (), ["a"]), "positive", "a list or set of names"),
    ((["a"], "a", ["a"]), "junk", "a list or set of names"),
    ((["a"], [], "a"), "ranked", "a list or set of names"),
])
def test_names_that_cannot_be_evaluated(arguments, argument, noun):
    refused(argument, noun, oxford.oxford_average_precision, *arguments)


@pytest.mark.parametrize("name", RANKED)
def test_every_ap_that_compute_ap_printed(name):
    folder = shared("real/oxford5k")
    lines = (folder / "ranked" / name / "AP.txt").read_text().splitlines()
    printed = [(Path(query).name, ap) for query, ap in map(str.split, lines[:55])]
    assert len(dict(printed)) == 55
    status, stdout, stderr = run(folder / "ground_truth", folder / "ranked" / name)
    *rows, total = stdout.splitlines()
    assert (status, stderr) == (0, "")
    assert [tuple(row.split()) for row in rows] == printed
    assert total.endswith(" (mean of all 55 queries, unrounded, in double precision)")
    mean = sum(float(ap) for _, ap in printed) / 55
    # Each printed AP is off by at most half a unit of its sixth digit.
    np.testing.assert_allclose(float(total.split()[1]), mean, rtol=1e-5, atol=0)
    query, ap = printed[17]
    ranked_list = folder / "ranked" / name / f"{query}_top.txt"
    assert run(folder / "ground_truth" / query, ranked_list) == (0, f"{ap}\n", "")


def test_one_query(tmp_path):
    prefix = write_query(tmp_path, "fruit_1", good="ab", ok="cde", junk="j")
    ranked = tmp_path / "ranked"
    for text in ("a\nj\nx\nb\nc\n", "a\nj\nx\nb\nc"):  # with and without a last newline
        ranked.write_text(text)
        assert run(prefix, ranked) == (0, "0.458333\n", "")


def test_a_folder(tmp_path):
    write_query(tmp_path, "a", good="x", ranked="x")
    write_query(tmp_path, "a_1", good="x", ok="z", ranked="yx")
    (tmp_path / "a_query.txt").write_text("x 1 2 3 4\n")
    together = run(tmp_path, tmp_path)
    lists = tmp_path / "lists"
    lists.mkdir()
    for name in ("a_top", "a_1_top"):
        (tmp_path / f"{name}.txt").rename(lists / f"{name}.txt")
    for other in ("AP.txt", "performance.txt", "b_top.txt", "a_top.csv"):
        (lists / other).write_text("not read")
    status, stdout, stderr = run(tmp_path, lists)
    assert (status, stderr) == (0, "")
    # a_1_top.txt begins with "a_", too, but belongs to the longer name.
    assert stdout == ("a 1\na_1 0.125\n"
                      "mAP 0.5625 (mean of all 2 queries, unrounded, in double precision)\n")
    assert together == (0, stdout, "")
    (lists / "a_top.txt").rename(lists / "a.txt")
    assert run(tmp_path, lists)[1] == stdout


def test_the_mean_is_of_unrounded_aps():
    aps = {"a": np.float32(1 / 3), "b": np.float32(1)}
    assert oxford.mean_average_precision(aps) == (float(np.float32(1 / 3)) + 1) / 2
    refused("average_precisions", "at least one query", oxford.mean_average_precision, {})


def test_legal_but_hollow_lists_warn(tmp_path):
    prefix = write_query(tmp_path, "q", good=["im1", "im2"])
    ranked = tmp_path / "ranked.txt"

    def answer(data):
        ranked.write_bytes(data)
        status, stdout, stderr = run(prefix, ranked)
        assert status == 0 and stderr.count("\n") == 1
        assert stderr.startswith(f"reid-ref: warning: {ranked}: ")
        return stdout, stderr

    stdout, stderr = answer(b"")
    assert stdout == "0\n" and "the ranked list is empty; its AP is 0" in stderr
    stdout, stderr = answer(b"im1\nim1\nx\nx\n")
    assert stdout == "1\n"
    assert "2 names come more than once (first: 'im1'); each time counts" in stderr
    for data, name in ((b"im1\r\nim2\r\n", r"'im1\r'"), (b"im1.jpg\n", "'im1.jpg'"),
                       (b"jpg/im2\n", "'jpg/im2'"), (b" im2 \n", "' im2 '")):
        stdout, stderr = answer(data)
        assert stdout == "0\n"
        assert f"spelled otherwise than in the ground truth: {name} is not in it" in stderr


def test_names_are_bytes(tmp_path):
    prefix = write_query(tmp_path, "q")
    (tmp_path / "q_good.txt").write_bytes(b"\xff\xfe\n\xc3\xa9\n")
    (tmp_path / "ranked").write_bytes(b"\xff\xfe\n\n\xc3\xa9\n")  # the blank line is a name
    assert run(prefix, tmp_path / "ranked") == (0, "0.791667\n", "")


def test_files_that_are_not_there(tmp_path):
    prefix = write_query(tmp_path, "q", good="a", ranked="a")
    ranked = tmp_path / "q_top.txt"
    fails(tmp_path / "p", ranked, "p: .*missing: p_good.txt, p_ok.txt, p_junk.txt; ")
    fails(prefix, tmp_path / "no.txt", "no.txt: .*cannot be read: No such file")
    fails(tmp_path, ranked, "q_top.txt: .*a folder")
    (tmp_path / "q_ok.txt").unlink()
    fails(prefix, ranked, "missing: q_ok.txt; ")
    prefix = write_query(tmp_path, "empty", junk="a", ranked="a")
    fails(prefix, ranked, "y_good.txt, .*y_ok.txt: .*at least one name")


def test_folders_that_do_not_fit(tmp_path):
    truth, lists = tmp_path / "truth", tmp_path / "lists"
    truth.mkdir()
    lists.mkdir()
    fails(truth, lists, "truth: .*NAME_good.txt, NAME_ok.txt and NAME_junk.txt")
    for k in range(7):
        write_query(truth, f"q_{k}", good="a")
    fails(truth, lists, "lists: .*q_0.txt or q_0_ANYTHING.txt")
    (lists / "q_3.txt").write_text("a\n")
    fails(truth, lists, r"lists: .*6 of 7 queries \(q_0, q_1, q_2, q_4, q_5, \.\.\.\)")
    for k in range(7):
        (lists / f"q_{k}_top.txt").write_text("a\n")
    fails(truth, lists, "one ranked list for q_3, .*q_3.txt, q_3_top.txt")
