"""`reid-ref verify`: every summary that was changed is named; what evaluate wrote holds."""
import functools
import json

import pytest

from reid_ref.arrays import InputError
from reid_ref.conventions import CONVENTIONS
from reid_ref.files import read_result
from reid_ref.labels import Labels
from reid_ref.result import STATUSES
from reid_ref.signature import convention_of, off_its_name, parse_signature
from tests.cases import put, save, signed
from tests.commands.common import FIXTURES, assert_one_line_error, command, table
from tests.nightly import cases

#: By hand: five queries, one good image each but for the last, first matches 1, 2, 4, 1 and none.
#: AP by the trapezoid of one good image at rank r: (1/r + 0)/2, or 1 at rank 1.
AP = [1.0, .25, .125, 1.0, None]
BY_HAND = {
    "schema": 1, "Rank-1": 2 / 5, "mAP": 2.375 / 5, "mINP": 2.75 / 5,
    "cmc": [2 / 5, 3 / 5, 3 / 5, 4 / 5], "counted": 5,
    "counts": {"query": 5, "gallery": 9, "gallery_junk": 0, "gallery_not_loaded": 0,
               "gallery_distractors": 0, "gallery_kept": 9, "good": 4, "junk_same_camera": 0,
               "tied": 0, "status": dict.fromkeys(STATUSES, 0) | {"ok": 4, "identity absent": 1}},
    "signature": "convention:matlab|ap:trapezoid|unmatched:zero|ties:gallery-order|"
                 "distances:float64|queries:5|gallery:9|reid-ref:0.2.0",
    # CRC-32 of identities 1 to 5 and cameras 1, as eight bytes each, the lowest first.
    "labels": {"query": "5f162251", "gallery": "00000000"},
    "queries": [
        {"query": k, "identity": k + 1, "camera": 1, "counted": True, "ap": AP[k],
         "status": "ok" if AP[k] else "identity absent", "inp": AP[k] and 1 / (1, 2, 4, 1)[k],
         "first_match": (1, 2, 4, 1, None)[k], "n_good": int(k < 4), "n_junk": 0}
        for k in range(5)]}


def verify(folder, *changes):
    """Verify the result worked by hand, with some changes."""
    value = json.loads(json.dumps(BY_HAND))
    for change in changes:
        change(value)
    (folder / "result.json").write_text(json.dumps(value))
    return command("verify", folder / "result.json")


def lines_of(done):
    return [" ".join(line.split()) for line in done.stdout.replace("\n          ", " ").split(
        "\n")[1:-1]]


def test_by_hand(tmp_path):
    done = verify(tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and lines_of(done) == [
        "verified 15 of 15 numbers agree with the values of 5 queries, to the last bit"]


def test_one_query(tmp_path):
    save(tmp_path / "one.npz", [[.1, .2]], Labels([1], [1]), Labels([1, 2], [2, 2]))
    table("evaluate", tmp_path / "one.npz", "--save", tmp_path / "one.json")
    assert " values of 1 query, to" in " ".join(table("verify", tmp_path / "one.json").split())


@pytest.mark.parametrize(("change", "line"), [
    (put("mAP", .4751), "differs mAP is 0.4751, the queries give 0.475"),
    (put("mAP", .475 + 2**-54), "differs mAP is 0.47500000000000003, the queries give 0.475"),
    (put("Rank-1", .6), "differs Rank-1 is 0.6, the queries give 0.4"),
    (put("cmc", 2, .8), "differs cmc: entry 3 is 0.8, the queries give 0.6"),
    (put("counted", 4), "differs counted is 4, the queries give 5"),
    (put("queries", 3, "counted", False),
     "differs queries that are counted: entry 4 is 4, the queries give 3"),
    (put("counts", "good", 5), "differs counts: good is 5, the queries give 4"),
    (put("counts", "gallery", 10), "differs gallery of the signature is 9, the queries give 10"),
    (put("counts", "gallery_kept", 8), "differs counts: gallery_kept is 8, the other counts "),
    (signed("queries:5", "queries:4"),
     "differs queries of the signature is 4, the queries give 5"),
    (put("queries", 0, "identity", 7), "differs labels: query is 5f162251, the queries give "),
    (put("queries", 1, "ap", None),
     "wrong query 1: ap: expected a number, for it has good images"),
    (put("queries", 1, "ap", .5), "differs mAP is 0.475, the queries give 0.525"),
    (put("queries", 1, "ap", 1.5), "wrong query 1: ap: expected a number from 0 to 1"),
    (put("queries", 1, "inp", 0), "wrong query 1: inp: expected a number above 0, to 1"),
    (put("queries", 4, "first_match", 3),
     "wrong query 4: first_match: expected none, for it has no good image"),
    (put("queries", 4, "status", "ok"),
     "wrong query 4: status: expected a reason, not ok, for it has no good image"),
    (signed("ap:trapezoid", "ap:step"),
     "wrong signature: ap is step, but convention matlab has trapezoid")])
def test_what_was_changed_is_named(change, line, tmp_path):
    done = verify(tmp_path, change)
    assert (done.returncode, done.stderr) == (1, "")
    assert any(one.startswith(line) for one in lines_of(done)), done.stdout


DELETED = object()
#: Every number and text of the header, by its keys; `queries` and `cmc` have tests of their own.
PLACES = [("schema",), ("mAP",), ("mINP",), ("counted",), ("signature",), ("labels",),
          ("labels", "query"), ("labels", "gallery"), ("counts",),
          *(("counts", key) for key in BY_HAND["counts"]),
          *(("counts", "status", key) for key in BY_HAND["counts"]["status"])]


@pytest.mark.parametrize("place", PLACES, ids=": ".join)
def test_nonsense_is_found_wherever_it_is(place, tmp_path):
    """But a file without a schema is one of the first."""
    for new in (DELETED, None, "nonsense", "1", .123456, -1, True, [1], {}):
        value = json.loads(json.dumps(BY_HAND))
        put(*place, new)(value)
        if new is DELETED:
            *inside, last = place
            functools.reduce(dict.__getitem__, inside, value).pop(last)
        (tmp_path / "result.json").write_text(json.dumps(value))
        done = command("verify", tmp_path / "result.json")
        if (place, new) == (("schema",), DELETED):
            assert done.returncode == 0
        elif done.returncode == 1:
            assert place[-1] in done.stdout and done.stderr == ""
        else:
            assert_one_line_error(done, f"{place[-1]}: |counts: expected|labels: expected")


@pytest.mark.parametrize("options", [f"--convention {name}" for name in CONVENTIONS] + [
    f"--set {choices}" for choices in ("ap=step,top_k=5", "ignored=nothing", "unmatched=drop",
                                       "arithmetic=float32", "cmc_length=7,ties=reversed")])
@pytest.mark.parametrize("file", cases(["market_like"], ["market_like", "special_values", "ties"]))
def test_what_evaluate_writes_holds(options, file, tmp_path):
    given = FIXTURES / f"{file}.mat"
    words, convention = options.split(), CONVENTIONS.get(options.split()[1], CONVENTIONS["matlab"])
    if convention.needs_lists:
        n_query = len(read_result(given).query)
        (tmp_path / "good").write_text("1 2\n" * n_query)
        (tmp_path / "junk").write_text("3\n" * n_query)
        words += ["--index-lists", "good", "junk"]
    table("evaluate", given, *words, "--per-query", "out.json", cwd=tmp_path)
    out = table("verify", tmp_path / "out.json")
    assert ("left out" in out) == (convention.cmc != "first-match")


@pytest.mark.parametrize(("change", "message"), [
    (lambda one: one.pop("queries"), "expected the values of each query, got summaries alone"),
    (lambda one: one.pop("signature"), "signature: expected what reid-ref evaluate FILE"),
    (put("signature", "ap:step"), "signature: expected all of convention, ap,"),
    (put("signature", "x"), "signature: expected KEY:VALUE, each key once, got"),
    (signed("trapezoid", "other"), "signature ap: unknown 'other'; known: trapezoid"),
    (signed("gallery:9", "gallery:many"),
     "signature: expected a number of images, got gallery:many"),
    (put("queries", 4, "query", 3),
     "query 4: query: expected 4, for queries are numbered from 0, in order, got 3"),
    (put("queries", 2, "ap", 10**400), "query 2: ap: expected what reid-ref"),
    (lambda one: one["queries"][2].pop("n_good"), "query 2: n_good: expected what reid-ref"),
    (put("queries", 2, "n_good", 1e30), "query 2: n_good: expected what"),
    (put("queries", 2, "status", "fine"), 'got "fine"'),
    (put("queries", []), "queries: expected what reid-ref evaluate FILE"),
    (put("queries", [3]), "query 0: query: expected what reid-ref evaluate")])
def test_what_is_no_stored_result(change, message, tmp_path):
    assert_one_line_error(verify(tmp_path, change), f"{tmp_path}/result.json: .*{message}")


def test_a_signature_says_its_convention():
    fields = parse_signature(
        "convention:torchreid[ap=trapezoid,top_k=7]|ap:trapezoid|unmatched:drop|"
        "ties:gallery-order|loads:without label -1|ignored:same identity, same camera|top_k:7|"
        "cmc_length:50|queries:1|gallery:2|reid-ref:0.2.0")
    found = convention_of(fields)
    assert (found.ap, found.top_k, found.loads) == ("trapezoid", 7, "without label -1")
    assert off_its_name(fields) == []
    assert off_its_name({**fields, "convention": "torchreid[top_k=7]"}) == [
        "signature: ap is trapezoid, but convention torchreid[top_k=7] has step"]
    assert off_its_name({**fields, "convention": "my own"}) == []


def test_a_signature_has_each_key_once():
    with pytest.raises(InputError, match="each key once, got 'ap:step'"):
        parse_signature("convention:matlab|ap:step|ap:step")


def test_a_sum_above_1_by_its_last_bits_is_no_fault(tmp_path):
    above = 1 + 2**-52
    assert verify(tmp_path, put("queries", 0, "ap", above),
                  put("mAP", (above + .25 + .125 + 1) / 5)).returncode == 0
