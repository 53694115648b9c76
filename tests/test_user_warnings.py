"""Warnings: at the user's line, seen, and as before after many threads."""
import ast
import functools
import re
import sys
import threading
import warnings

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels, compat
from reid_ref.arrays.user_warnings import each_warning_once, warn, without_warnings
from tests.documents import ROOT
from tests.nightly import cases

RNG = np.random.default_rng(3)
QUERY = Labels([1, 2, 3, 9, 3, 1], [1, 1, 2, 2, 1, 2], clothes=[1] * 6)   # 9 has no good image
GALLERY = Labels([1, 2, 3, 1, 2, 3, 4, 0, -1, 3], [2, 2, 1, 1, 3, 3, 3, 3, 1, 2], clothes=[2] * 10)
SIDES = QUERY, GALLERY
Q = RNG.standard_normal((6, 4))
G = RNG.standard_normal((10, 4))
Q[1] = G[4] = 0         # cannot be normalised
D = RNG.random((6, 10))
D[0, 0] = np.nan
ONE_CAMERA = [Labels(side.identity, np.ones(len(side))) for side in SIDES]
COLUMNS = (QUERY.identity, GALLERY.identity, QUERY.camera, GALLERY.camera)
SIMILAR = RNG.random(20) < .5


@functools.cache
def result():
    with each_warning_quiet():
        return reid_ref.evaluate_distances(np.nan_to_num(D, nan=.3), *SIDES)


def each_warning_quiet():
    from reid_ref.arrays import ignored, warnings_to
    return warnings_to(ignored)


def other():
    with each_warning_quiet():
        return reid_ref.evaluate_distances(1 - np.nan_to_num(D), *SIDES)


def filled():
    evaluator = reid_ref.Evaluator()
    for features, side, is_query in ((Q, QUERY, True), (G, GALLERY, False)):
        evaluator.update(features, side.identity, side.camera, is_query=is_query)
    return evaluator


def in_training():
    metric = compat.torchmetrics.ReIDMetric()
    torch = sys.modules["torch"]
    for features, side, is_query in ((Q, QUERY, True), (G, GALLERY, False)):
        metric.update(torch.from_numpy(features), torch.from_numpy(side.identity),
                      torch.from_numpy(side.camera), torch.full((len(side),), is_query))
    return metric.compute()


def boxes():
    return reid_ref.Boxes(["a", "b", "c"], [0, 1, 2], [7, 7, 8], [[0, 0, 40, 90]] * 3, [1, 1],
                          [[0, 0, 40, 85], [50, 0, 90, 90]], [.9, .8], [0], [7],
                          query_features=[[1., 0.]], galleries={"50": [[2]]},
                          detection_features=[[.8, .6], [.6, .8]])


def mine():
    """A convention whose field is computed on first use, by what warns."""
    class Mine:
        @functools.cached_property
        def value(self):
            return reid_ref.evaluate_distances(D, *SIDES)
    return Mine().value


def drawing(draw, value):
    def call(folder):
        return draw(value())
    return call


#: Calls of the public functions, with the folder of their files, and whether each warns.
WARN = {
    "evaluate": lambda f: reid_ref.evaluate(Q, G, *SIDES),
    "evaluate several": lambda f: reid_ref.evaluate(
        Q, G, *SIDES, convention=["matlab", "torchreid"]),
    "evaluate_distances": lambda f: reid_ref.evaluate_distances(D, *SIDES),
    "evaluate_ranked_lists": lambda f: reid_ref.evaluate_ranked_lists(
        [[0, 1], [1], [2], [3], [4], [5]], *SIDES),
    "evaluate_reranked": lambda f: reid_ref.evaluate_reranked(
        Q + 3, G + 3, *SIDES, k1=3, k2=2),
    "evaluate_thresholds": lambda f: reid_ref.evaluate_thresholds(Q, G, *SIDES),
    "evaluate_thresholds_distances": lambda f: reid_ref.evaluate_thresholds_distances(D, *SIDES),
    "evaluate_protocol": lambda f: reid_ref.evaluate_protocol("mars", Q, G, *SIDES),
    "average_trials": lambda f: reid_ref.average_trials("regdb", [of_regdb()] * 2),
    "evaluate_person_search": lambda f: reid_ref.evaluate_person_search("cuhk-sysu", boxes()),
    "camera_pairs": lambda f: reid_ref.camera_pairs(D, *ONE_CAMERA),
    "camera_pairs_features": lambda f: reid_ref.camera_pairs_features(Q, G, *ONE_CAMERA),
    "compare": lambda f: reid_ref.compare(result(), other()),
    "runs": lambda f: reid_ref.runs([result(), other()]),
    "splits": lambda f: reid_ref.splits([result(), other()]),
    "validate": lambda f: reid_ref.validate(reid_ref.read(f / "mine.npz"), "50.0/40.0",
                                            search=False),
    "explain": lambda f: reid_ref.explain(reid_ref.read(f / "mine.npz")),
    "interval": lambda f: result().interval("mAP"),
    "statistics": lambda f: reid_ref.statistics.interval([.1, .2, .4], [1, 2, 3]),
    "Evaluator": lambda f: filled().compute(),
    "figures": lambda f: reid_ref.figures.cmc({"a": result()}),
    "compat": lambda f: compat.torchreid.evaluate_rank(
        D, *COLUMNS[:2], *COLUMNS[2:], max_rank=5),
    "cached property": lambda f: mine(),
    "oxford": lambda f: reid_ref.oxford.evaluate_query(f / "one", f / "empty.txt"),
}
SILENT = {
    "read": lambda f: [reid_ref.read(f / name).query for name in ("mine.npz", "mine.mat")],
    "read text": lambda f: reid_ref.read(f / "folder"),
    "load": lambda f: reid_ref.load(f / "saved.json"),
    "doctor": lambda f: reid_ref.doctor(reid_ref.read(f / "mine.npz")),
    "export": lambda f: reid_ref.export(
        reid_ref.read(f / "mine.npz"), f / f"out{threading.get_ident()}"),
    "evaluate_ranked_list": lambda f: reid_ref.evaluate_ranked_list([0, 1], [1]),
    "by_group": lambda f: reid_ref.by_group(result()),
    "to_dict": lambda f: reid_ref.to_dict(result()),
    "precision_recall": lambda f: reid_ref.precision_recall(result(), 0),
    "rerank": lambda f: reid_ref.rerank(Q + 3, G + 3, k1=3, k2=2),
    "rerank_blocks": lambda f: list(reid_ref.rerank_blocks(Q + 3, G + 3, k1=3, k2=2)),
    "pool_queries": lambda f: reid_ref.pool_queries(QUERY, QUERY, Q + 3),
    "read_boxes": lambda f: pytest.raises(
        reid_ref.InputError, reid_ref.read_boxes, f / "mine.npz"),
    "kissme": lambda f: reid_ref.metric_learning.kissme(
        RNG.standard_normal((40, 2)), range(20), range(20, 40), SIMILAR),
    "formats": lambda f: reid_ref.formats.as_markdown(result()),
}
#: Processes, drawings to files, and classes that hold values.
ELSEWHERE = {
    "crosscheck", "to_frame", "visualize_ranked_results", "Boxes", "Candidates", "CONVENTIONS",
    "CameraPairs", "Comparison", "Comparisons", "Convention", "Counts", "Finding", "Groups",
    "IndexLists", "InputError", "Interval", "Labels", "PerQuery", "Result", "ResultFile", "Runs",
    "Thresholds", "__version__", "crosschecking", "datasets", "distributed", "files", "matlab",
    "metric_learning", "protocols", "published", "trec"}
CLASSES = {name for name in reid_ref.__all__ if name.endswith("Warning")}


def of_regdb():
    labels = Labels([7, 8], [1, 1])
    with each_warning_quiet():
        return reid_ref.evaluate_protocol("regdb", None, None, labels, labels,
                                          distances=np.eye(2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from scipy.io import savemat
    folder = tmp_path_factory.mktemp("files")
    arrays = {"query_f": Q, "query_label": QUERY.identity, "query_cam": QUERY.camera,
              "gallery_f": G, "gallery_label": GALLERY.identity, "gallery_cam": GALLERY.camera}
    np.savez(folder / "mine.npz", **arrays)
    savemat(folder / "mine.mat", arrays)
    (folder / "folder").mkdir()
    for name, array in arrays.items():
        np.save(folder / "folder" / f"{name}.npy", array)
    result().save(folder / "saved.json")
    for kind in ("good", "ok", "junk"):
        (folder / f"one_{kind}.txt").write_text("a\n" if kind == "good" else "")
    (folder / "empty.txt").write_text("")
    return folder


def test_every_public_name_is_called():
    called = {*WARN, *SILENT, *ELSEWHERE, *CLASSES}
    assert not set(reid_ref.__all__) - called


@pytest.mark.parametrize("name", [*WARN, "torchmetrics"])
def test_a_warning_points_at_the_caller(folder, name):
    if name == "torchmetrics":
        pytest.importorskip("torchmetrics")
        import torch  # noqa: F401
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_training() if name == "torchmetrics" else WARN[name](folder)
    assert {warning.filename for warning in caught} == {__file__}, [*map(str, caught)]


def test_every_class_of_warning_is_public_and_used():
    """A call of `warn` names the class, and none is the class of all."""
    used = set()
    for path in (ROOT / "reid_ref").rglob("*.py"):
        if path.name != "user_warnings.py":
            used.update(call.args[1].id for call in ast.walk(ast.parse(path.read_text()))
                        if getattr(getattr(call, "func", None), "id", "") == "warn")
    assert used == CLASSES - {"InputWarning"}
    assert {getattr(reid_ref, name).__base__ for name in used} == {reid_ref.InputWarning}


def test_tests_ignore_warnings_by_class():
    """The words of a warning are those of one test, so that another sentence breaks no more."""
    words = [f"{path.name}: {text}" for path in (ROOT / "tests").rglob("*.py")
             for text in re.findall(r'"(?:ignore|default|always|once):[^:"][^"]*"',
                                    path.read_text())
             if "unclosed file" not in text]  # of Python itself
    assert words == []


def state():
    return list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl


def test_threads_leave_warnings_as_they_are(folder):
    n = cases(4, 8)
    calls, barrier, failed = {**WARN, **SILENT}, threading.Barrier(n), []

    def work():
        for name, call in calls.items():
            for _ in range(2):
                barrier.wait()
                try:
                    call(folder)
                except Exception as error:
                    failed.append((name, error))

    interval = sys.getswitchinterval()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls.values():
            call(folder)  # what it imports may add filters, once
        before = state()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=work) for _ in range(n)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert not failed, failed[:3]
        assert state() == before
        seen = len(caught)
        warnings.warn("mine")
        reid_ref.evaluate_distances(result().per_query.ap[:, None] * 0 + 1., QUERY, GALLERY[[0]])
    assert [str(warning.message)[:4] for warning in caught[seen:]][:1] == ["mine"]
    assert any(warning.category is reid_ref.UnmatchedWarning for warning in caught[seen:])


def test_the_library_changes_no_filter():
    """The process of the command, and that of foreign code, set theirs and never restore it."""
    own = {"reid_ref/cli/__init__.py", "reid_ref/compat/layumi.py",
           "reid_ref/foreign/child.py"}
    found = {}
    for path in (ROOT / "reid_ref").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", getattr(node, "name", None)))
            if name in ("catch_warnings", "simplefilter", "filterwarnings", "showwarning"):
                found.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    assert set().union(*found.values()) == own
    assert "catch_warnings" not in found


def test_a_warning_reaches_another_threads_user():
    """What one thread collects is its own."""
    inside, done = threading.Event(), threading.Event()

    def collecting():
        with each_warning_once():
            warn("theirs", reid_ref.LabelWarning)
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=collecting)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread.start()
        inside.wait(10)
        warn("ours", reid_ref.InputWarning)
        assert [str(warning.message) for warning in caught] == ["ours"]
        done.set()
        thread.join()
    assert [(str(warning.message), warning.category) for warning in caught] == [
        ("ours", reid_ref.InputWarning), ("theirs", reid_ref.LabelWarning)]


def test_only_what_makes_an_item_is_silent():
    def items():
        warn("made", reid_ref.InputWarning)
        yield 1
        warn("made", reid_ref.InputWarning)
        yield 2

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for item in without_warnings(items()):
            warn(f"used {item}", reid_ref.InputWarning)
    assert [str(warning.message) for warning in caught] == ["used 1", "used 2"]
