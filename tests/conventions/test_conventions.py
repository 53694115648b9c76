"""The records of the conventions: frozen, complete, and checked when changed."""
import dataclasses
import re

import numpy as np
import pytest

from reid_ref import Labels, conventions as tables
from reid_ref.conventions import CONVENTIONS, NO_CHOICES, Convention
from reid_ref.conventions.records import toolbox_conventions
from reid_ref.evaluation.functions import evaluate_distances
from tests.refusals import refused

#: How every difference ends: what it does to the numbers.
DIRECTION = re.compile(
    r": (?:(?:mAP|CMC) )?(?:higher|lower|either way|the same|last bits)\b[^:]*\.$")
#: Where the code of another toolbox is the same: commit, evaluator, and the lines of its loader.
COPY = re.compile(r"^[\w.-]+/[\w.-]+ [0-9a-f]{7}, .*\.py.*loader .*\.py:\d")


@pytest.mark.parametrize("name", CONVENTIONS)
class TestRecord:
    def test_is_frozen(self, name):
        record = CONVENTIONS[name]
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.ap = "step"
        assert hash(record) == hash(record.replace(name=name))
        assert record == record.replace(name=name)

    def test_differences_are_numbered_and_have_a_direction(self, name):
        differences = CONVENTIONS[name].differences
        assert re.search(r"[\w.-]+/[\w.-]+ [0-9a-f]{7}\b", CONVENTIONS[name].source)
        assert bool(differences) == (name != "matlab")
        for number, text in enumerate(differences, 1):
            assert text.startswith(f"{number}. ") and text.endswith(".")
            assert DIRECTION.search(text), text
        assert CONVENTIONS[name].ties == "gallery-order"  # on every machine


@pytest.mark.parametrize("choice", tables.CHOICES)
def test_every_other_value_tells_its_difference(choice):
    """Whatever matlab has not, a difference tells, and none is told twice."""
    # A cut counts something only where there is one.
    changes = {"top_k": 5} if choice == "cut" else {}
    matlab = CONVENTIONS["matlab"].replace(**changes)
    for value in tables.CHOICES[choice]:
        chosen = (value,) if choice == "ignored" else value
        mine = matlab.replace(**{choice: chosen})
        differs = getattr(mine, choice) != getattr(matlab, choice)
        assert (mine.differences != matlab.differences) == differs
        assert len(set(mine.differences)) == len(mine.differences)
        assert [text for text in mine.differences if not DIRECTION.search(text)] == []
        assert [text[:3] for text in mine.differences] == [
            f"{k}. " for k in range(1, len(mine.differences) + 1)]


@pytest.mark.parametrize("changes, told", [
    ({"top_k": 5}, ["1. Only the first 5 kept images are looked at: lower."]),
    ({"cmc_length": 7}, ["1. CMC over the first 7 ranks: the same numbers, cut off."]),
    ({"ignored": ("same identity, same camera",)}, [
        "1. Label -1 is not ignored but an ordinary wrong answer: lower, unless the gallery has "
        "none."]),
    ({"ignored": ("label -1",), "unmatched": "drop"}, [
        "1. Images of the query's identity on its own camera are good: either way, mostly "
        "higher.", "2. A query without a good image is dropped: higher."])])
def test_differences_follow_from_the_choices(changes, told):
    assert list(CONVENTIONS["matlab"].replace(**changes).differences) == told


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_direction_of_some_differences():
    """Random rankings go where the difference says, and some of them move."""
    rng = np.random.default_rng(3)
    moved = {}
    for _ in range(20):
        query = Labels(rng.integers(1, 6, 8), rng.integers(1, 4, 8))
        gallery = Labels(rng.integers(-1, 5, 40), rng.integers(1, 4, 40))
        problem = rng.random((8, 40)), query, gallery
        start = evaluate_distances(*problem).mAP
        for changes in ({"ap": "step"}, {"ap": "mistaken-trapezoid"}, {"unmatched": "drop"},
                        {"ignored": ("same identity, same camera",)}, {"top_k": 6}):
            mine = CONVENTIONS["matlab"].replace(**changes)
            difference, = mine.differences
            change = evaluate_distances(*problem, convention=mine).mAP - start
            assert change * (1 if ": higher" in difference else -1) >= -1e-12, difference
            moved[mine.name] = moved.get(mine.name, 0) + (abs(change) > 1e-6)
    assert len(moved) == 5 and min(moved.values()) > 0, moved


@pytest.mark.parametrize("asked, shown, name", [
    ("BoT", "BoT", "torchreid"), ("bag-of-tricks", "bag-of-tricks", "torchreid"),
    ("BAG_OF_TRICKS", "bag-of-tricks", "torchreid"), ("transreid", "TransReID", "torchreid"),
    ("AGW", "AGW", "torchreid"), ("reid_survey", "reid-survey", "torchreid"),
    ("spcl", "SpCL", "open-reid"), ("Cluster-Contrast", "cluster-contrast", "open-reid"),
    ("CamStyle", "CamStyle", "open-reid-sklearn-0.18"), ("Torchreid", "torchreid", "torchreid"),
    ("fast_reid", "fast-reid", "torchreid"),
    ("fast-reid-cython", "fast-reid-cython", "torchreid-cython"),
    ("Torchreid_Function", "torchreid-function", "torchreid-function"),
    ("fast-reid-function", "fast-reid-function", "torchreid-function")])
def test_names_that_people_know(asked, shown, name):
    """A name in any spelling gives the record, under the name that was asked for."""
    assert tables.known_as(asked) == shown
    found = tables.find_convention(asked)
    assert (found.name, found.base) == (shown, name)
    assert found.replace(name=name) == CONVENTIONS[name]
    assert CONVENTIONS[shown] == found


@pytest.mark.parametrize("name", ["fast_reid", "nothing"])
def test_a_record_is_kept_under_names_as_they_are_written(name):
    with pytest.raises(KeyError, match=name):
        CONVENTIONS[name]


def test_every_alias_is_one_records_alone_and_shown_there():
    assert not set(map(str.lower, tables.ALIASES)) & set(CONVENTIONS)
    assert len(set(map(str.lower, tables.NAMES))) == len(tables.NAMES)
    for alias, name in tables.ALIASES.items():
        assert any(alias in other for other in CONVENTIONS[name].also)
    numbers = [tuple(getattr(record, key) for key in Convention.__dataclass_fields__
                     if key not in NO_CHOICES) for record in CONVENTIONS.values()]
    assert len(set(numbers)) == len(numbers)  # toolboxes with the same choices are one record
    for record in CONVENTIONS.values():
        for other in record.also:
            named, _, source = other.partition(" (")
            assert not source or COPY.search(source), other


def test_a_toolbox_is_one_entry():
    """What one entry says is evaluated behind its loader and alone, and tells its differences."""
    mine, function = toolbox_conventions({
        "repository": "me/toolbox 1234567", "loader": "data.py:7",
        "formula": "squared(unit(q), unit(g))", "measure": "rank.py:5", "evaluators": [
            {"name": "mine", "file": "rank.py", "choices": {"ap": "step", "cmc_length": 2},
             "oddities": ["It rounds to one digit: either way"]}]})
    assert mine.source == "me/toolbox 1234567, rank.py"
    assert mine.loader == "me/toolbox 1234567, data.py:7" and mine.also == ()
    problem = np.array([[.1, .2, .3, .4]]), Labels([7], [1]), Labels([-1, 8, 7, 7], [2, 2, 2, 3])
    results = evaluate_distances(
        *problem, convention=[mine, function.replace(name="bare", ignored=())])
    assert results["mine"].mAP == (1 / 2 + 2 / 3) / 2
    assert results["mine"].cmc.tolist() == [0, 1]
    assert results["bare"].mAP == (1 / 3 + 2 / 4) / 2
    assert [text.split(":")[0] for text in mine.differences] == [
        "1. AP by the step rule",
        "2. Images labelled -1 are not loaded, where matlab ignores them",
        "3. CMC over the first 2 ranks", "4. It rounds to one digit"]


@pytest.mark.parametrize("changes, argument, noun", [
    *(({choice: "nonsense"}, choice, "nonsense") for choice in (
        "recall", "unmatched", "cmc", "arithmetic", "cmc_length")),
    ({"ap": "stepp"}, "ap", "trapezoid"),
    ({"ignored": ("label -2",)}, "ignored", "label -1"),
    ({"ties": "random"}, "ties", "gallery-order"),
    ({"top_k": 0}, "top_k", "0"),
    ({"cmc_length": 0}, "cmc_length", "0"),
    ({"arithmetic": "float32", "ap": "sklearn-0.18"}, "ap in float32", "sklearn-0.18"),
    ({"ties": "grouped", "ap": "mistaken-trapezoid"}, "ap of grouped ties", "mistaken"),
    ({"ties": "grouped", "top_k": 5}, "top_k", "grouped"),
    ({"ties": "grouped", "ap": "step", "arithmetic": "float32"}, "ties", "float32"),
    ({"tie": "reversed"}, "replace", "unknown 'tie'"),
    ({"ignored": ("label -1", "listed as junk")}, "ignored", "'listed as junk'"),
    *(({"name": name}, "name", "a text of one line without |") for name in (
        "a|queries:1", "a\nb", "a\x1b[31m", "", " a", "a ", "\u2028", None, 5)),
    ({"cmc": "identities", "top_k": 5}, "top_k", "cuts ranked lists of images"),
])
def test_replace_refuses(changes, argument, noun):
    refused(argument, noun, CONVENTIONS["matlab"].replace, **changes)


def test_replace_makes_a_record_of_its_own():
    mine = CONVENTIONS["torchreid"].replace(ties="reversed", ignored=("label -1",))
    assert mine.name == "torchreid[ties=reversed,ignored=label -1]"
    assert mine.ignored == ("label -1",)
    assert CONVENTIONS["torchreid"].ties == "gallery-order"
    assert CONVENTIONS["torchreid"].replace(name="mine", top_k=5).name == "mine"
