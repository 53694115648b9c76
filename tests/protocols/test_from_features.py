"""What a user gets without any option is what the repository's own test script prints.

fixtures/test_scripts holds features of varying norms, and the answers of the scripts from the
features on: their distance, their evaluator. Equal features in double differ by the order of a
sum at most; what a script keeps in float32 has seven digits.
"""
import json

import pytest

import reid_ref
from reid_ref.protocols import PROTOCOLS, read_boxes, read_trials
from tests.documents import ROOT

FOLDER = ROOT / "fixtures/test_scripts"
RECORDINGS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))
              if not path.stem.endswith(".trials")}
DOUBLE, FLOAT32 = 1e-14, 2e-7

pytestmark = pytest.mark.filterwarnings(
    "ignore::reid_ref.BenchmarkWarning", "ignore::reid_ref.UnmatchedWarning")


def evaluated(recording):
    """Return the results by part, of the file alone and what the recording is given."""
    given, path = dict(recording["given"]), FOLDER / recording["problem"]
    protocol = given.pop("protocol", None)
    if protocol is not None and PROTOCOLS[protocol].boxes is not None:
        return reid_ref.evaluate_person_search(protocol, read_boxes(path), **given)
    data = reid_ref.read(path)
    features = data.query_features, data.gallery_features
    if protocol is None:
        result = reid_ref.evaluate(*features, data.query, data.gallery, **given)
        return {"all": result}
    trials = recording["trials"] and read_trials(FOLDER / recording["trials"], data.gallery)
    return reid_ref.evaluate_protocol(
        protocol, *features, data.query, data.gallery, trials=trials, **given)


def number(result, metric):
    """A number of a result by its name."""
    return (getattr(result, metric) if metric in ("mAP", "mINP") else
            result.rank(int(metric.removeprefix("Rank-"))))


@pytest.mark.parametrize("name", [
    name for name, recording in RECORDINGS.items() if "rerank" not in recording["given"]])
def test_without_an_option(name):
    recording = RECORDINGS[name]
    results = evaluated(recording)
    assert recording["answers"]
    for part, answers in recording["answers"].items():
        assert {"mAP", "Rank-1"} & answers.keys()
        for metric, answer in answers.items():
            ours = (results.means[part][metric] if part in getattr(results, "means", ()) else
                    number(results[part], metric))
            bound = FLOAT32 if metric in recording["float32"] else DOUBLE
            assert ours == pytest.approx(answer, rel=0, abs=bound), (part, metric)


def test_what_is_recorded():
    """A recording names its code, and whether that was run."""
    for name, recording in RECORDINGS.items():
        assert len(recording["commit"]) == 40, name
        assert recording["run"] == "run" or recording["run"].startswith("read, not run"), name
        assert recording["script"] and recording["distance"] and recording["versions"], name
