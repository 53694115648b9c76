"""The exported files, judged by trec_eval itself (pytrec_eval)."""
import importlib
import io
import json

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.files import read_result, trec
from tests.cases import market_like, special
from tests.commands.common import FIXTURES, MARKET, command
from tests.installed import version_of
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def pytrec_eval():
    """trec_eval's own code."""
    version_of("pytrec-eval-terrier")
    return importlib.import_module("pytrec_eval")


def written(distances, query, gallery, blocks=1):
    qrels, ranking = io.StringIO(), io.StringIO()
    lines = trec.write_trec(np.array_split(distances, blocks), query, gallery, qrels, ranking)
    for file in (qrels, ranking):
        assert file.getvalue().count("\n") == lines
        file.seek(0)
    return qrels, ranking


def judge(pytrec_eval, qrels, ranking, n_query, measures):
    """What trec_eval -J says of every query, in order."""
    judged = pytrec_eval.RelevanceEvaluator(
        pytrec_eval.parse_qrel(qrels), measures, judged_docs_only_flag=True)
    answers = judged.evaluate(pytrec_eval.parse_run(ranking))
    assert set(answers) == {f"q{k}" for k in range(n_query)}  # -c has nobody to add
    return [answers[f"q{k}"] for k in range(n_query)]


CASES = {
    **{f"random {seed}": market_like(seed) for seed in range(2)},
    **{f"ties {seed}": market_like(seed, levels=4) for seed in range(2)},
    "all tied": market_like(9, levels=1),
    "float32": market_like(10, dtype=np.float32, n_query=40, n_gallery=300),
    **{f"special {seed}": special(seed) for seed in range(3)},
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_our_numbers(name, pytrec_eval):
    distances, query, gallery = CASES[name]
    # A query labelled -1 is left out: its good images, all junk, raise our CMC (trec.py says so).
    mine = query.identity != -1
    distances, query = distances[mine], Labels(query.identity[mine], query.camera[mine])
    result = reid_ref.evaluate_distances(distances, query, gallery, convention="trec-eval")
    answers = judge(pytrec_eval, *written(distances, query, gallery), len(query),
                    {"map", "success.1,5,10,20"})
    np.testing.assert_array_equal([answer["map"] for answer in answers],
                                  np.nan_to_num(result.per_query.ap, nan=0.0))
    assert np.cumsum([answer["map"] for answer in answers])[-1] / len(query) == result.mAP
    for k in (1, 5, 10, 20):
        hits = sum(answer[f"success_{k}"] for answer in answers)
        assert hits / len(query) == result.cmc[k - 1]


@pytest.mark.parametrize("name", ["ties 0", "all tied", "special 1"])
def test_ir_measures_reads_the_files(name, tmp_path):
    """A reader that is not trec_eval's: the same rows; AP and RR are the convention's."""
    version_of("ir-measures")
    from ir_measures import AP, RR, iter_calc, read_trec_qrels, read_trec_run

    distances, query, gallery = CASES[name]
    mine = query.identity != -1
    distances, query = distances[mine], Labels(query.identity[mine], query.camera[mine])
    data = reid_ref.ResultFile("arrays", query, gallery, distances=distances)
    lines = reid_ref.export(data, tmp_path / "r")
    qrels = list(read_trec_qrels(str(tmp_path / "r.qrels")))
    ranking = list(read_trec_run(str(tmp_path / "r.run")))
    assert len(qrels) == len(ranking) == lines and any(row.relevance == -1 for row in qrels)
    for k, row in enumerate(distances):
        rows = [(int(one.doc_id[1:]), one.score) for one in ranking if one.query_id == f"q{k}"]
        order = np.argsort(row, kind="stable")[:len(rows)].tolist()
        assert rows == list(zip(order, range(len(rows), 0, -1)))
    result = reid_ref.evaluate_distances(distances, query, gallery, convention="trec-eval")
    expected = {"AP": np.nan_to_num(result.per_query.ap),
                "RR": np.nan_to_num(1 / np.where(result.per_query.first_match > 0,
                                                 result.per_query.first_match, np.inf))}
    for measure, values in expected.items():
        found = {one.query_id: one.value for one in iter_calc(
            [{"AP": AP, "RR": RR}[measure](judged_only=True)], qrels, ranking)}
        assert [found[f"q{k}"] for k in range(len(query))] == values.tolist()


def test_what_is_behind_the_last_good_image_changes_nothing(pytrec_eval):
    distances, query, gallery = market_like(5, n_gallery=60)
    measures = {"map", "success.1,5,10", "P.1,5,10,50", "recall.5,50", "Rprec", "recip_rank",
                "ndcg", "num_rel"}
    short = judge(pytrec_eval, *written(distances, query, gallery), len(query), measures)
    qrels, ranking = {}, {}
    for k, row in enumerate(distances):
        same = gallery.identity == query.identity[k]
        own = gallery.camera == query.camera[k]
        roles = np.where((same & own) | (gallery.identity == -1), -1, same)
        place = np.argsort(np.argsort(row))
        qrels[f"q{k}"] = {f"g{i}": int(role) for i, role in enumerate(roles)}
        ranking[f"q{k}"] = {f"g{i}": float(-place[i]) for i in range(len(gallery))}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures, judged_docs_only_flag=True)
    whole = evaluator.evaluate(ranking)
    assert short == [whole[f"q{k}"] for k in range(len(query))]
    lines = written(distances, query, gallery)[0].getvalue().count("\n")
    assert lines < distances.size


def test_lines_by_hand():
    gallery = Labels([7, -1, 8, 7, 0, 7, 7], [2, 1, 1, 1, 3, 3, 2])
    query = Labels([7, 9, -1], [1, 1, 5])
    #            good junk wrong junk distractor good good(last)
    distances = [[.9, .1, .2, .15, .2, .2, np.nan], [.9, .8, .7, .6, .5, .4, .3],
                 [3, 2, 1, 1, 4, 5, 6]]
    with pytest.warns(reid_ref.JunkWarning, match=(
            "query: 1 of 3 are labelled -1; in trec_eval they match nothing, in compute_AP.m they "
            "can raise CMC")):
        qrels, ranking = written(np.array(distances), query, gallery)
    assert qrels.read().splitlines() == [
        "q0 0 g1 -1", "q0 0 g3 -1", "q0 0 g2 0", "q0 0 g4 0", "q0 0 g5 1", "q0 0 g0 1",
        "q0 0 g6 1",
        "q1 0 g6 0",   # nothing to find: the nearest image alone
        "q2 0 g2 0"]   # labelled -1: the same, the first of equals
    tag = f"reid-ref-{reid_ref.__version__}"
    assert ranking.read().splitlines() == [
        *(f"q0 Q0 g{image} {place} {8 - place} {tag}"
          for place, image in enumerate([1, 3, 2, 4, 5, 0, 6], 1)),
        f"q1 Q0 g6 1 1 {tag}", f"q2 Q0 g2 1 1 {tag}"]


def test_complex_distances_are_refused():
    refused("distances", "real numbers", written, np.zeros((2, 3), complex),
            Labels([1, 2], [1, 1]), Labels([1, 2, 3], [2, 2, 2]))


def test_a_list_too_long_for_single_precision(monkeypatch):
    assert np.float32(trec.LONGEST_LIST) - np.float32(trec.LONGEST_LIST - 1) == 1
    assert np.float32(trec.LONGEST_LIST + 1) == np.float32(trec.LONGEST_LIST)
    monkeypatch.setattr(trec, "LONGEST_LIST", 2)
    arguments = Labels([1, 2], [1, 1]), Labels([1, 3, 2], [2, 2, 2]), io.StringIO(), io.StringIO()
    rows = np.array([[1., 2, 3], [1, 2, 3]])
    refused("", "query 1: its last good image", trec.write_trec, [rows], *arguments)


def test_the_command(tmp_path, pytrec_eval):
    prefix = tmp_path / "market.v1"
    done = command("evaluate", MARKET, "--quiet", "--save", f"{prefix}.run")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["market.v1.qrels", "market.v1.run"]
    with open(f"{prefix}.qrels") as qrels, open(f"{prefix}.run") as ranking:
        lines = len(qrels.readlines())
        qrels.seek(0)
        answers = judge(pytrec_eval, qrels, ranking, 48, {"map", "success.1"})
    assert done.stdout.endswith(
        f"\n\nwrote {prefix}.qrels and {prefix}.run: 48 queries, {lines:,} lines each\n"
        f"next  trec_eval -J -c -m map -m success.1,5,10,20 {prefix}.qrels {prefix}.run\n")
    recorded = json.loads((FIXTURES / "market_like.json").read_text())
    assert sum(answer["success_1"] for answer in answers) / 48 == recorded["CMC"][0]
    data = read_result(MARKET)
    result = reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                               data.gallery, convention="trec-eval")
    assert [answer["map"] for answer in answers] == np.nan_to_num(result.per_query.ap).tolist()


def test_a_distance_matrix_and_progress(tmp_path):
    distances, query, gallery = market_like(2)
    data, seen = reid_ref.ResultFile("arrays", query, gallery, distances=distances), []
    reid_ref.export(data, tmp_path / "d", max_memory="1M", progress=seen.append)
    assert (tmp_path / "d.run").read_text() == written(distances, query, gallery)[1].read()
    assert sum(seen) == len(query)
