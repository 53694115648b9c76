"""SeqNet's and IRRA's evaluators against what their own code answered: fixtures/compat."""
import contextlib
import importlib.util
import io

import numpy as np
import pytest

from reid_ref import UnmatchedWarning, compat
from reid_ref.compat import irra, seqnet
from reid_ref.compat.common import NoMatch, Refused
from tests.compat.recorded import FOLDER, answers, problems
from tests.refusals import refused

_SPEC = importlib.util.spec_from_file_location("person_search", FOLDER / "person_search.py")
person_search = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(person_search)


# ---------------------------------------------------------------- SeqNet

@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    pytest.importorskip("scipy")
    root = tmp_path_factory.mktemp("search")
    return lambda seed: person_search.problem(seed, root / str(seed))


def quietly(function, *arguments, **options):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        answer = function(*arguments, **options)
    return answer, printed.getvalue()


@pytest.mark.parametrize("name", person_search.CALLS)
def test_seqnet(problem, name):
    """Every number to the bit, and every entry of `results`."""
    function, options = person_search.CALLS[name]
    theirs = answers("seqnet", name)
    assert len(theirs) == (person_search.WITH_CONTEXT if "context" in name else
                           person_search.COUNT)
    for seed, _, expected in theirs:
        answer, printed = quietly(getattr(seqnet, function), *problem(seed), **options)
        assert person_search.summary(answer) == expected
        assert list(answer) == ["image_root", "results", "mAP", "accs"]
        assert type(answer["mAP"]) is np.float64 and answer["accs"].shape == (3,)
        lines = [f"  mAP = {expected['mAP']:.2%}", *(
            f"  top-{k:2d} = {share:.2%}" for k, share in zip((1, 5, 10), expected["accs"]))]
        assert printed.splitlines() == ["search ranking:", *lines]


def test_context_changes_the_recorded_numbers():
    for benchmark in ("prw", "cuhk"):
        changed = dict((seed, answer) for seed, _, answer in answers("seqnet",
                                                                     f"{benchmark} context"))
        plain = dict((seed, answer) for seed, _, answer in answers("seqnet", benchmark))
        assert any(changed[seed]["mAP"] != plain[seed]["mAP"] for seed in changed)


def test_the_result_behind_the_numbers(problem):
    answer, _ = quietly(seqnet.eval_search_prw, *problem(0))
    result = compat.last_result()
    assert result.signature["protocol"] == "prw"
    assert result.mAP == pytest.approx(answer["mAP"], abs=1e-15)
    assert result.rank(1) == answer["accs"][0]


def test_the_threshold(problem):
    p = problem(1)
    few, many = (quietly(seqnet.eval_search_prw, *p, det_thresh=score)[0]["mAP"]
                 for score in (.9, .3))
    assert few < many


def test_all_images(problem):
    """theirs has no such attribute; here the listed images come first, then all others."""
    p = problem(2)
    whole, _ = quietly(seqnet.eval_search_cuhk, *p, gallery_size=-1)
    listed, _ = quietly(seqnet.eval_search_cuhk, *p, gallery_size=50)
    assert 0 < whole["mAP"] < listed["mAP"]


def test_entries_of_fewer_than_ten_detections(problem):
    p = problem(0)
    scores = np.sort(np.concatenate(p.gallery_dets)[:, 4])
    answer, _ = quietly(seqnet.eval_search_prw, *p, det_thresh=scores[-5] + 1e-9)
    assert all(len(entry["gallery"]) < 10 for entry in answer["results"])


class TestWhatTheyRefuse:
    @pytest.mark.parametrize("name", ["gallery_dets", "gallery_feats", "query_box_feats"])
    @pytest.mark.parametrize("function", ["eval_search_prw", "eval_search_cuhk"])
    def test_lists_of_another_length(self, problem, name, function):
        p = problem(0)
        with pytest.raises(AssertionError, match=name) as caught:
            quietly(getattr(seqnet, function), *p._replace(**{name: getattr(p, name)[:5]}),
                    **({"gallery_size": 50} if "cuhk" in function else {}))
        assert isinstance(caught.value, Refused)

    @pytest.mark.parametrize(("name", "entry"), [
        ("gallery_dets", np.zeros((3, 4))), ("gallery_feats", np.zeros((1, 3))),
        ("query_box_feats", np.zeros(3))])
    def test_an_entry_of_another_shape(self, problem, name, entry):
        p = problem(0)
        values = list(getattr(p, name))
        k = next(k for k, dets in enumerate(p.gallery_dets) if len(dets) > 1) if (
            "gallery" in name) else 1
        values[k] = entry
        refused(f"{name}[{k}]", "", seqnet.eval_search_prw, *p._replace(**{name: values}))

    def test_a_query_without_its_person(self, problem):
        p = problem(0)
        for each in p.gallery_dataset.annotations:
            each["cam_id"] = 1 + (1 not in each["pids"])
        for each in p.query_dataset.annotations:
            each["cam_id"] = 1 + (each["pids"] != [1])[0]
        with pytest.raises(ZeroDivisionError, match="none for query [0-7]") as caught:
            quietly(seqnet.eval_search_prw, *p, ignore_cam_id=False)
        assert isinstance(caught.value, NoMatch)

    def test_a_query_whose_person_is_nowhere_else(self, problem):
        p = problem(0)
        p.query_dataset.annotations[3]["pids"] = np.array([99])
        with pytest.raises(ZeroDivisionError, match="99 of query 3"):
            quietly(seqnet.eval_search_prw, *p)

    def test_context_without_the_query_first(self, problem):
        p = problem(0)
        moved = [dets + 1 for dets in p.query_dets]
        refused("query_dets[0]", "the query's box first", seqnet.eval_search_prw,
                *p._replace(query_dets=[-dets for dets in moved]), cbgm=True)


# ---------------------------------------------------------------- IRRA

def tensors(p):
    torch = pytest.importorskip("torch")
    similarity, q_pids, g_pids, max_rank = problems.irra(p)
    return (*map(torch.from_numpy, (similarity, q_pids, g_pids)), max_rank)


#: A float32 mean of some tens of numbers up to 100.
SINGLE = 4e-5


@pytest.mark.parametrize("name", ["rank", "rank without mAP"])
def test_irra(name):
    torch = pytest.importorskip("torch")
    theirs = answers("irra", name)
    assert len(theirs) == problems.COUNT
    for seed, _, expected in theirs:
        *arrays, max_rank = tensors(problems.problem(seed, False))
        cmc, *means, indices = irra.rank(*arrays, max_rank, get_mAP=name == "rank")
        assert (len(cmc), cmc.dtype) == (expected["length"], torch.float32)
        np.testing.assert_array_equal(cmc.numpy()[:10], np.float32(expected["cmc"]))
        assert indices[:, :3].tolist() == expected["indices"] and indices.dtype == torch.int64
        assert indices.shape[1] == (len(arrays[2]) if means else max_rank)
        for mean, known in zip(means, (expected.get("mAP"), expected.get("mINP"))):
            assert mean.dtype == torch.float32 and mean.shape == ()
            assert mean.item() == pytest.approx(known, abs=SINGLE, rel=0)
        assert len(means) == (2 if name == "rank" else 0)


def test_irra_in_double_behind():
    *arrays, max_rank = tensors(problems.problem(0, False))
    mAP = irra.rank(*arrays, max_rank)[1]
    result = compat.last_result()
    assert mAP.item() == np.float32(100 * result.mAP) and result.convention.name == "irra"


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
def test_irra_takes_arrays_too(dtype):
    """A number without a sign has no negative of its own type."""
    torch = pytest.importorskip("torch")
    similarity = np.array([[9, 8, 7], [1, 2, 3]], dtype)
    answer = irra.rank(similarity, [7, 8], np.array([8, 7, 7]), max_rank=2)
    assert answer[3].tolist() == [[0, 1, 2], [2, 1, 0]]
    as_tensors = irra.rank(torch.from_numpy(similarity), torch.tensor([7, 8]),
                           torch.tensor([8, 7, 7]), 2)
    assert all(torch.equal(one, other) for one, other in zip(answer, as_tensors))


def test_irra_refuses():
    pytest.importorskip("torch")
    similarity = np.eye(2)
    with pytest.raises(IndexError, match="1 of 2 queries") as caught:
        irra.rank(similarity, [7, 8], [7, 7])
    assert isinstance(caught.value, NoMatch)
    with pytest.warns(UnmatchedWarning):
        assert irra.rank(similarity, [7, 8], [7, 7], 1, get_mAP=False)[0].tolist() == [50]
    refused("max_rank", "at most 2", irra.rank, similarity, [7, 8], [7, 7], 3, False)
    refused("similarity", "shape", irra.rank, similarity[0], [7, 7], [7, 7])
