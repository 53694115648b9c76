"""Figures: what is drawn are the numbers, read back from the Axes; files are whole and equal."""
import os
import re
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels, evaluate_distances, figures
from reid_ref.commands.plot import FIGURES
from reid_ref.drawing import camera_matrix, style as saving
from reid_ref.evaluation.camera_pairs import camera_pairs
from reid_ref.drawing.camera_matrix import camera_change
from reid_ref.drawing.style import INTERVALS, caption
from reid_ref.drawing.rank_lists import FRAMES
from reid_ref.drawing.results import KINDS, WRONG_PAIRS, distance_sample, shared_axes
from reid_ref.evaluation.groups import (
    ap_by_good_images, intervals_by_metric, rank_band, ranks_of_band)
from reid_ref.text import percent
from tests.cases import market_like, save
from tests.commands.common import MARKET, command
from tests.drawing.colour_blindness import SIGHT, difference, linear, lab
from tests.documents import ROOT
from tests.nightly import cases
from tests.refusals import refused

pytest.importorskip("matplotlib")

#: Figures on axes, which have a title; rank lists are images.
ON_AXES = [name for name, figure in FIGURES.items() if "--title" in figure.options]
TINY = [[.2, .1, .3]], Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3])
pytestmark = pytest.mark.filterwarnings(
    "ignore::reid_ref.UnmatchedWarning", "ignore::reid_ref.IntervalWarning")


def made(seed=0, convention="matlab", n_query=60):
    return evaluate_distances(*market_like(seed, n_query=n_query, n_gallery=200, identities=25),
                              convention=convention)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---------------------------------------------------------------- CMC

def test_cmc_is_the_curve():
    results = {"ours": made(), "other": made(1), "third": made(2)}
    ax = figures.cmc(results)
    assert len(ax.lines) == 3
    for line, (name, result) in zip(ax.lines, results.items()):
        assert line.get_xdata().tolist() == list(range(1, 21))
        assert line.get_ydata().tolist() == (100 * result.cmc[:20]).tolist()
        assert line.get_label() == f"{name} (Rank-1 {100 * result.cmc[0]:.2f})"
    assert len({line.get_linestyle() for line in ax.lines}) == 3
    assert len({line.get_color() for line in ax.lines}) == 3
    assert ax.get_title() == "CMC, convention matlab\nbands: 95 % intervals by identity"


@pytest.mark.parametrize(("last", "ticks"), [
    (2, [1, 2]), (5, [1, 2, 3, 5]), (20, [1, 5, 10, 20]), (50, [1, 5, 10, 20, 30, 40, 50]),
    (100, [1, 20, 40, 60, 80, 100]), (999, [1, 50, 100, 150, 200])])
def test_the_last_rank(last, ticks):
    """The gallery of 200 ends the longest curve."""
    result = made()
    ax = figures.cmc({"ours": result}, last=last)
    assert ax.get_xlim() == (1, min(last, len(result.cmc)))
    assert ax.lines[0].get_xdata()[-1] == ax.get_xlim()[1]
    assert [tick for tick in ticks if tick <= ax.get_xlim()[1]] == ax.get_xticks().tolist()
    refused("last", "a whole number", figures.cmc, {"ours": result}, last=1)


def test_near_curves_are_thin():
    """Curves that are nowhere one percent apart; a third one may be."""
    one, other = made(), made(1)
    assert np.abs(one.cmc[:20] - other.cmc[:20]).max() > .01
    for results, thin in (({"a": one, "b": other}, False), ({"a": one, "b": one}, True),
                          ({"a": one, "b": other, "c": one}, True)):
        widths = {line.get_linewidth() for line in figures.cmc(results).lines}
        assert len(widths) == 1 and (widths == {.7}) == thin


def test_bands_are_the_intervals():
    result = made()
    band, = figures.cmc({"ours": result}, last=50).collections
    corners = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    for k in (1, 2, 7, 50):
        interval = result.interval(f"Rank-{k}")
        assert (k, 100 * interval.low) in corners and (k, 100 * interval.high) in corners
    assert not figures.cmc({"ours": result}, bands=False).collections
    # Also where the curve stands still and the interval of the rank before is taken.
    found = rank_band(result, 50)
    assert found.rank.tolist() == [*range(1, 11), 15, 20, 25, 30, 35, 40, 45, 50]
    assert (np.diff(result.cmc[:50]) == 0).any()
    ax = figures.cmc({"ours": result}, last=50)
    assert ax.get_ylim()[0] == max(0, 100 * min(found.low) - 5)
    for k, low, high in zip(found.rank, found.low, found.high):
        assert (low, high) == (result.interval(f"Rank-{k}").low, result.interval(f"Rank-{k}").high)


def test_intervals_of_several_results_are_those_of_each():
    results = {"a": made(), "b": made(convention="torchreid")}
    metrics = {name: ["mAP", *ranks_of_band(result, 50).values(), "mAP"]
               for name, result in results.items()}
    known = intervals_by_metric(results, metrics)
    bands = [rank_band(result, 50, known[name]) for name, result in results.items()]
    for band, (name, result) in zip(bands, results.items()):
        assert known[name]["mAP"] == result.interval("mAP")
        alone = rank_band(result, 50)
        for field in ("rank", "low", "high"):
            np.testing.assert_array_equal(getattr(band, field), getattr(alone, field))
    first, second = (figures.cmc(results, bands=given, last=50).collections
                     for given in (True, bands))
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(*(each.get_paths()[0].vertices for each in (ours, theirs)))
    assert rank_band(results["a"], 50, {"Rank-1": known["a"]["Rank-1"]}) is None


def test_cmc_of_few_images_and_without_intervals():
    ax = figures.cmc({"ours": evaluate_distances(*TINY)})  # one identity: no interval
    assert ax.lines[0].get_ydata().tolist() == [0, 100, 100]
    assert ax.get_xlim() == (1, 3) and not ax.collections
    assert ax.get_title() == "CMC, convention matlab"
    drawn = figures.cmc({"drawn": made(convention="open-reid-cuhk03")})
    assert len(drawn.lines) == 1 and not drawn.collections
    both = {"a": made(), "b": made(convention="torchreid")}
    assert figures.cmc(both, bands=False).get_title() == "CMC, convention matlab, torchreid"
    refused("results", "results by name", figures.cmc, {})


# ---------------------------------------------------------------- precision and recall


def test_precision_and_recall_by_hand():
    """Good images at ranks 2 and 3: precision 1/2 and 2/3, and 0 before them."""
    level = np.arange(101)
    for convention, expected in (
            ("torchreid", np.where(level <= 50, 50, 200 / 3)),
            ("matlab", np.where(level <= 50, level, 50 + (200 / 3 - 50) * (level / 50 - 1)))):
        result = evaluate_distances(*TINY, convention=convention)
        line, = figures.precision_recall({"ours": result}).lines
        np.testing.assert_array_equal(line.get_xdata(), level)
        np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["cityflow", *{
    record.ap: name for name, record in CONVENTIONS.items() if not record.needs_lists}.values()])
def test_the_key_has_the_mAP_of_the_table(name):
    results = {"a": made(4, name), "b": made(5, name)}
    ax = figures.precision_recall(results)
    assert texts(ax) == [f"{key} (mAP {percent(result.mAP)})" for key, result in results.items()]
    if CONVENTIONS[name].ap != "mistaken-trapezoid":  # of which no curve is known
        for line, result in zip(ax.lines, results.values()):
            y = line.get_ydata()
            np.testing.assert_allclose(np.mean((y[1:] + y[:-1]) / 2), 100 * result.mAP, atol=0.5)


# ---------------------------------------------------------------- AP

def test_histograms_of_ap():
    result = made(6)
    ax = figures.average_precision({"ours": result})
    ap, identity = np.nan_to_num(result.per_query.ap), result.per_query.identity  # no match is 0
    means = [ap[identity == one].mean() for one in np.unique(identity)]
    for drawn, values in zip(ax.patches, (ap, means), strict=True):
        expected = np.histogram(100 * np.array(values), range(0, 101, 5))[0] / len(values)
        np.testing.assert_allclose(drawn.get_data().values, 100 * expected, atol=1e-9)
        assert drawn.get_data().edges.tolist() == list(range(0, 101, 5))
    assert texts(ax) == [f"ours: 60 queries, mean {100 * result.mAP:.2f}",
                         f"ours: {len(means)} identities, mean {100 * np.mean(means):.2f}"]


def test_ap_by_number_of_good_images():
    query = Labels([1, 2, 3, 4, 5, 6], [1] * 6)
    gallery = Labels([1] + [2] * 2 + [3] * 3 + [4] * 4 + [5] * 9, [2] * 19)
    result = evaluate_distances(np.tile(np.arange(19.), (6, 1)), query, gallery)
    found = ap_by_good_images(result)
    assert list(zip(found.low.tolist(), found.high.tolist(), found.queries.tolist())) == [
        (1, 1, 1), (2, 2, 1), (3, 4, 2), (5, 8, 0), (9, 16, 1)]  # 6 has no good image
    ap = result.per_query.ap
    line, = figures.ap_by_good({"ours": result}).lines
    np.testing.assert_array_equal(
        line.get_ydata(), 100 * np.array([ap[0], ap[1], (ap[2] + ap[3]) / 2, np.nan, ap[4]]))
    ax = figures.ap_by_good({"ours": result, "again": result})
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "1", "2", "3\u20134", "5\u20138", "9\u201316"]


# ---------------------------------------------------------------- pairs of cameras

@pytest.mark.parametrize("metric", ["mAP", "Rank-1"])
def test_cells_hold_values_and_counts(metric):
    distances, query, gallery = market_like(4, n_query=30, n_gallery=90, cameras=6)
    pairs = camera_pairs(distances, query, Labels(gallery.identity, np.minimum(gallery.camera, 5)))
    matrix, count = ((pairs.ap_matrix, pairs.ap_count) if metric == "mAP" else
                     (pairs.rank1_matrix, pairs.rank1_count))
    ax = figures.cameras(pairs, metric=metric)
    cells = {}
    for text in ax.texts:
        x, y = text.get_position()
        cells.setdefault((round(y), round(x)), []).append(text.get_text())
    assert cells == {(i, j): [f"{100 * matrix[i, j]:.1f}", str(count[i, j])]
                     for i, j in np.argwhere(~np.isnan(matrix)).tolist()}
    hatched = [[round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)]
               for patch in ax.patches if patch.get_hatch()]
    assert hatched == np.argwhere(np.isnan(matrix)).tolist() and len(hatched) >= 5
    assert texts(ax) == ["same camera", "no score", "small: queries"]
    different = matrix[~np.eye(6, dtype=bool)]
    assert ax.images[0].get_clim() == (100 * np.nanmin(different), 100 * np.nanmax(different))
    np.testing.assert_array_equal(ax.images[0].get_array().filled(np.nan), 100 * matrix)
    assert ax.get_title().startswith(f"{metric} by pair of cameras (%), rule plain\n")


def test_cameras_that_do_not_fit_or_have_no_score():
    n = 30
    distances, query, gallery = market_like(4, n_query=90, n_gallery=500, cameras=n)
    ax = figures.cameras(camera_pairs(distances, query, gallery))
    assert not ax.texts and ax.get_title().endswith("(too narrow for numbers)")
    ax = figures.cameras(camera_pairs([[1, 2]], Labels([7], [1]), Labels([8, 8], [1, 2])))
    assert not ax.texts and "different cameras: -" in ax.get_title()
    pairs = camera_pairs(np.zeros((1, 101)), Labels([1], [1]),
                         Labels(np.arange(101), np.arange(101)))
    refused("cameras", "at most 100 in a figure", figures.cameras, pairs)
    refused("metric", "unknown 'map'", figures.cameras, pairs, metric="map")


def test_several_methods_share_one_scale():
    distances, *labels = market_like(4, n_query=30, n_gallery=90)
    pairs = {"a": camera_pairs(distances, *labels), "b": camera_pairs(-distances, *labels)}
    figure = camera_matrix.matrix_per_method(pairs, width=7)
    panels = [ax for ax in figure.axes if ax.images and ax.get_xlabel()]
    every = np.concatenate([one.ap_matrix[~np.eye(4, dtype=bool)] for one in pairs.values()])
    for ax, name in zip(panels, pairs):
        assert ax.get_title().startswith(f"{name}\nmAP by pair")
        assert ax.images[0].get_clim() == (100 * np.nanmin(every), 100 * np.nanmax(every))
    one = camera_matrix.matrix_per_method({"a": pairs["a"]})
    assert [ax.get_title()[:6] for ax in one.axes if ax.get_xlabel()] == ["mAP by", "Rank-1"]


def test_the_change_of_cameras():
    distances, *labels = market_like(4, n_query=30, n_gallery=90)
    before, after = camera_pairs(distances, *labels), camera_pairs(-distances, *labels)
    ax = camera_change(before, after)
    change = 100 * (after.ap_matrix - before.ap_matrix)
    np.testing.assert_array_equal(ax.images[0].get_array().filled(np.nan), change)
    most = np.nanmax(abs(change[~np.eye(4, dtype=bool)]))
    assert ax.images[0].get_clim() == (-most, most)
    values = [text.get_text() for text in ax.texts[::2]]
    assert values == [f"{value:+.1f}" for value in change[~np.isnan(change)]]


# ---------------------------------------------------------------- distances

def test_sample_by_hand():
    query, gallery = Labels([7, -1, 8], [1, 1, 2]), Labels([7, 8, 7, 8, -1, 0], [1, 1, 2, 2, 2, 2])
    distances = np.arange(18.).reshape(3, 6)
    distances[2, 0] = np.nan
    for blocks in ([distances], [distances[:1], distances[1:]]):
        sample = distance_sample(blocks, query, gallery)
        assert sample.good.tolist() == [2, 13]
        assert sample.wrong.tolist() == [3, 5]  # of the third query NaN is left out
        assert sample.good_same_camera.tolist() == [0, 15]
        assert sample.wrong_same_camera.tolist() == [1, 14, 17]


def test_wrong_pairs_are_drawn_a_query():
    distances, query, gallery = market_like(9, n_query=5, n_gallery=900, cameras=2)
    query = Labels([1, 2, 3, 4, 5], query.camera)
    first, again, other = (distance_sample([distances], query, gallery, seed=seed).wrong.tolist()
                           for seed in (0, 0, 1))
    assert first == again != other and len(set(first)) == 5 * WRONG_PAIRS


def test_densities_are_those_of_the_sample():
    distances, query, gallery = market_like(9, n_query=40, n_gallery=300)
    sample = distance_sample([distances], query, gallery)
    ax = figures.distances(sample)
    kinds = (sample.good, sample.good_same_camera, sample.wrong, sample.wrong_same_camera)
    for drawn, values in zip(ax.patches, kinds):
        density, edges = drawn.get_data().values, drawn.get_data().edges
        expected = np.histogram(values, edges, density=True)[0]
        np.testing.assert_allclose(density, expected, rtol=1e-9)
    assert texts(ax)[2] == f"other identity, other camera ({len(sample.wrong):,})"
    assert len({drawn.get_linestyle() for drawn in ax.patches}) == 4


def test_densities_on_one_scale():
    labels = market_like(9, n_query=40, n_gallery=300)
    first, second = (distance_sample([factor * labels[0]], *labels[1:]) for factor in (1, 1.5))
    low, high, top = scale = shared_axes([first, second])
    drawn = [figures.distances(sample, scale=scale) for sample in (first, second)]
    every = [values for sample in (first, second) for values in vars(sample).values()]
    assert (low, high) == (min(map(np.min, every)), max(map(np.max, every)))
    for ax in drawn:
        assert ax.get_xlim() == (low, high) and ax.get_ylim() == (0, top)
    highest = max(patch.get_data().values.max() for ax in drawn for patch in ax.patches)
    assert top == pytest.approx(1.05 * highest)
    # Of other units each has its own axes; so has a sample without pairs.
    assert shared_axes([first, distance_sample([9 * labels[0]], *labels[1:])]) is None
    assert shared_axes([]) is None


def test_kinds_without_pairs():
    ax = figures.distances(distance_sample([[[1.0]]], Labels([1], [1]), Labels([1], [2])))
    assert texts(ax) == ["same identity, other camera (1)"]
    empty = figures.distances(distance_sample([[[np.nan]]], Labels([1], [1]), Labels([1], [2])))
    assert not empty.patches and empty.get_legend() is None
    pair = Labels([1], [1]), Labels([1], [2])
    refused("distances", "real numbers", distance_sample, [np.array([[1j]])], *pair)


# ---------------------------------------------------------------- conventions

def test_conventions_are_dots():
    results = evaluate_distances(*market_like(1), convention=["matlab", "mars", "torchreid"])
    ax = figures.conventions(results)
    for line, values in ((ax.lines[0], [one.mAP for one in results.values()]),
                         (ax.lines[1], [one.rank(1) for one in results.values()])):
        np.testing.assert_array_equal(line.get_xdata(), 100 * np.array(values))
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "matlab", "mars (no mAP)", "torchreid"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top
    assert ax.lines[2].get_xdata()[0] == 100 * results["matlab"].mAP


# ---------------------------------------------------------------- what all share

#: The least difference of two colours of one figure; about 2 is just visible side by side.
LEAST = 15


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("colours", [
    saving.COLOURS, [colour for colour, _ in FRAMES.values()], [kind[2] for kind in KINDS]],
    ids=["lines", "frames", "kinds of distances"])
def test_colours_differ_for_the_colour_blind(colours, sight):
    for one, other in combinations(colours, 2):
        assert difference(one, other, sight) > LEAST, (one, other)
    if sight == "normal":    # and from the paper
        assert [colour for colour in colours if difference(colour, "#ffffff") <= LEAST] == []


def test_the_simulator_of_colour_blindness():
    """L*a*b* of sRGB's red and white; grey stays grey; a red and a green that few tell apart."""
    np.testing.assert_allclose(lab(linear("#ff0000")), [53.24, 80.09, 67.20], atol=.05)
    np.testing.assert_allclose(lab(linear("#ffffff")), [100, 0, 0], atol=1e-9)
    for sight in SIGHT:
        assert difference("#808080", "#808080", sight) == 0
        np.testing.assert_allclose(SIGHT[sight].sum(axis=1), 1, atol=2e-6)
    assert difference("#a05000", "#6a6a00", "deuteranopia") < LEAST < difference(
        "#a05000", "#6a6a00")


def test_names_are_shown_as_they_are():
    results = {"_a$b$_{x}": made(), "b\nc": made(1)}
    ax = figures.cmc(results, bands=False)
    assert [text.split(" (Rank")[0] for text in texts(ax)] == [r" _a\$b\$_{x}", r"b\nc"]
    saving.as_bytes(ax.figure, ".png")  # and no formula fails


@pytest.mark.parametrize("width", [2, 3.3, 7])
def test_titles_are_wrapped_to_the_width(width):
    figure = saving.draw_panels(figures.cmc, {"": {"ours": made()}}, width)
    assert figure.get_size_inches()[0] == width
    figure.draw_without_rendering()
    title = figure.axes[0].title.get_window_extent()
    assert title.x0 >= -1 and title.x1 <= figure.bbox.width + 1
    assert figure.axes[0].get_title().count("\n") == (2 if width < 3 else 1)


def test_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused("figures", "pip install matplotlib", figures.cmc, {"ours": made()})


def test_widths():
    for text, width in (("3.3in", 3.3), ("3.3", 3.3), (" 7 in ", 7), ("254mm", 10),
                        ("25.4cm", 10), ("144pt", 2)):
        assert saving.inches(text) == pytest.approx(width)
    for text in ("", "in", "3ft", "-3in", "1e1", "1in", "41in", "3,3in", "nan"):
        refused("width", "a length from 2in to 40in", saving.inches, text)


# ---------------------------------------------------------------- files

BEGINS = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}


@pytest.mark.parametrize("kind", BEGINS)
def test_every_type_of_file_and_the_same_bytes(tmp_path, kind):
    for name in ("a", "b"):
        figures.save(figures.cmc({"ours": made(), "other": made(1)}).figure,
                     tmp_path / f"{name}{kind.upper()}")
    first, second = ((tmp_path / f"{name}{kind.upper()}").read_bytes() for name in "ab")
    assert first == second and first.startswith(BEGINS[kind])
    assert b"CreationDate" not in first and b"<dc:date>" not in first
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{name}{kind.upper()}" for name in "ab"]
    if kind == ".pdf":
        assert b"/MediaBox [ 0 0 237.6 180 ]" in first
        assert b"/Type3" not in first and b"/FontFile2" in first


def test_svg_for_a_page():
    text = figures.svg(figures.cmc({"<b>&": made()}).figure)
    assert text.startswith("<svg") and text.rstrip().endswith("</svg>")
    assert "&lt;b&gt;&amp; (Rank-1" in text and "<b>" not in text
    assert not re.findall(r'(?:href|src)="(?!#)', text)


# ---------------------------------------------------------------- the command


@pytest.fixture
def three(tmp_path):
    """A folder with three results."""
    folder = tmp_path / "three"
    folder.mkdir()
    _, query, gallery = market_like(0, n_query=20, n_gallery=90)
    for seed, name in enumerate("abc"):
        save(folder / f"{name}.npz", market_like(seed, n_query=20, n_gallery=90)[0], query,
             gallery)
    return folder


@pytest.mark.parametrize("files", [["a.npz"], ["a.npz", "b.npz", "c.npz"]])
@pytest.mark.parametrize("figure", cases(["cmc", "distances"], ON_AXES))
def test_command(three, figure, files):
    done = command("plot", figure, *files, "-o", "x.svg", "--width", "4in", "--quiet", cwd=three)
    assert (done.returncode, done.stderr) == (0, "")
    first, *words = done.stdout.splitlines()
    assert first == "wrote x.svg"
    counts = (" 20 queries, 90 gallery images; convention matlab."
              if FIGURES[figure].convention == "matlab" else "")
    said = caption(figure, several=len(files) > 1, bands=INTERVALS * (figure == "cmc"))
    assert " ".join(" ".join(words).split()) == f"caption {said}{counts}"
    assert 'width="288pt"' in (three / "x.svg").read_text()
    assert len(list(three.iterdir())) == 4


def test_the_page_has_a_row_for_every_figure():
    rows = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs/figures.md").read_text(), re.MULTILINE)
    assert rows == [*FIGURES]


def test_captions_count_what_each_result_loads(tmp_path):
    distances, query, gallery = market_like(0, n_query=20, n_gallery=90)
    n_query, n_loaded = (np.count_nonzero(side.identity + 1) for side in (query, gallery))
    assert n_query < 20 and n_loaded < 90
    save(tmp_path / "a.npz", distances, query, gallery)
    save(tmp_path / "b.npz", distances[:9, :80], query[:9], gallery[:80])
    done = command("plot", "cmc", "a.npz", "b.npz", "-o", "x.svg", "--quiet", cwd=tmp_path)
    assert ("a: 20 queries, 90 gallery images; b: 9 queries, 80 gallery images;"
            in " ".join(done.stdout.split()))
    done = command("plot", "cmc", "a.npz", "--convention", "torchreid,matlab", "-o", "x.svg",
                   "--quiet", cwd=tmp_path)
    assert (f"a (torchreid): {n_query} queries, {n_loaded} gallery images; a (matlab): 20 "
            in " ".join(done.stdout.split()))


@pytest.mark.nightly
def test_captions_say_bands_only_where_there_are_some(tmp_path):
    _, query, gallery = market_like(0, n_query=20, n_gallery=90)
    save(tmp_path / "one.npz", np.arange(90.)[np.newaxis], query[:1], gallery)
    save(tmp_path / "several.npz", market_like(1, n_query=20, n_gallery=90)[0], query, gallery)
    for name, words, has_bands in (("one", "1 query, 90 gallery images;", False),
                                   ("several", "20 queries, 90 gallery images;", True)):
        done = command("plot", "cmc", f"{name}.npz", "-o", "x.svg", "--quiet", cwd=tmp_path)
        said = " ".join(done.stdout.split())
        assert words in said and ("Bands are" in said) == has_bands
        done = command("report", f"{name}.npz", "-o", "x.html", "--quiet", cwd=tmp_path)
        assert ("Bands are" in (tmp_path / "x.html").read_text()) == has_bands


def test_command_of_features_is_the_function(tmp_path):
    command("plot", "cmc", MARKET, "-o", tmp_path / "x.svg", "--name", "ours", "--convention",
            "torchreid")
    data = reid_ref.read(MARKET)
    result = reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                               data.gallery, convention="torchreid")
    ax = figures.cmc({"ours": result})
    assert (tmp_path / "x.svg").read_bytes() == saving.as_bytes(ax.figure, ".svg")


@pytest.mark.parametrize("figure", cases(["cmc", "rank-lists"], [*FIGURES]))
def test_a_matplotlibrc_changes_nothing(three, figure):
    import matplotlib

    words = ["plot", figure, "a.npz", "--quiet", "-o"]
    command(*words, "x.png", cwd=three)
    with matplotlib.rc_context({"text.usetex": True, "axes.facecolor": "red", "lines.linewidth": 9,
                                "figure.facecolor": "blue", "axes.titlepad": 30}):
        assert command(*words, "y.png", cwd=three).returncode == 0
    assert (three / "x.png").read_bytes() == (three / "y.png").read_bytes()


@pytest.mark.parametrize("backend", cases(["unknown"], [
    "module://matplotlib_inline.backend_inline", "unknown"]))
@pytest.mark.parametrize("words", [["plot", "cmc", "a.npz", "-o", "x.png"],
                                   ["report", "a.npz", "-o", "x.html"]])
def test_the_backend_of_a_notebook_is_not_asked_for(words, backend, three):
    """A kernel exports the name of its own, which need not be installed beside the command."""
    done = subprocess.run(
        [sys.executable, "-m", "reid_ref", *words, "--quiet"], cwd=three, capture_output=True,
        text=True, env={**os.environ, "MPLBACKEND": backend})
    assert (done.returncode, done.stderr) == (0, "") and (three / words[-1]).stat().st_size


def test_titles(three):
    """--title in the place of the usual one, or above several panels; --no-title: none."""
    def texts(*words):
        assert command("plot", *words, "-o", "x.svg", "--quiet", cwd=three).returncode == 0
        return (three / "x.svg").read_text()

    usual = "<!-- CMC, convention matlab -->"
    assert usual in texts("cmc", "a.npz")
    text = texts("cmc", "a.npz", "--title", "Ours, $5 each")
    assert "<!-- Ours, $5 each -->" in text.replace("\\$", "$") and usual not in text
    text = texts("cmc", "a.npz", "--no-title")
    assert usual not in text and "<!-- rank -->" in text
    text = texts("cameras", "a.npz", "--title", "Six cameras")
    assert "<!-- Six cameras -->" in text and "<!-- mAP by pair of cameras" in text
