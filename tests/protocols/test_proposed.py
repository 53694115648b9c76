"""Benchmarks since 2022 as their own test scripts print them, by protocols in TOML files.

`fixtures/test_scripts/proposed/NAME.toml` is the protocol, NAME.npz the problem, and each .json
file says which script was run. What a file cannot say yet is made here from what it can.
"""
import json
from dataclasses import replace

import numpy as np
import pytest

import reid_ref
from reid_ref.protocols import read_protocol
from tests.documents import ROOT

pytest.importorskip("tomllib")  # Python 3.11
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
FOLDER = ROOT / "fixtures/test_scripts"
RECORDINGS = {path.stem: recording for path in sorted(FOLDER.glob("*.json"))
              if (recording := json.loads(path.read_text()))["given"]["protocol"].startswith(
                  "proposed/")}
#: Parts that ignore another location or scale, as those of other clothes: the column instead.
COLUMNS = {"same-location": "view", "same-scale": "video"}
#: Means over parts: the first of them, and the first after them.
AVERAGES = {"one-average": (0, 4), "two-average": (4, 16), "three-average": (16, 28),
            "four-average": (28, 32)}


def evaluated(recording, **options):
    """A function of part and measure: the number of the product."""
    protocol = read_protocol(FOLDER / recording["given"]["protocol"])
    data = reid_ref.read(FOLDER / recording["problem"])

    def result_of(query, gallery, **part):
        return reid_ref.evaluate_protocol(protocol, data.query_features, data.gallery_features,
                                          query, gallery, **part, **options)

    results = dict(result_of(data.query, data.gallery))
    for name, column in COLUMNS.items() if protocol.name == "mevid" else ():
        labels = (replace(each, clothes=getattr(each, column))
                  for each in (data.query, data.gallery))
        results[name] = result_of(*labels, part="same-clothes")["same-clothes"]

    def number(part, measure):
        if part in AVERAGES:
            first, last = AVERAGES[part]
            return np.mean([number(name, measure) for name in list(results)[first:last]])
        result = results[part]
        return (result.rank(int(measure[5:])) if measure.startswith("Rank-")
                else getattr(result, measure))
    return number


@pytest.mark.parametrize("name", RECORDINGS)
def test_recording(name):
    recording = RECORDINGS[name]
    number = evaluated(recording)
    for part, answers in recording["answers"].items():
        for measure, theirs in answers.items():
            single = measure in recording["float32"]
            np.testing.assert_allclose(number(part, measure), theirs, rtol=0,
                                       atol=1e-7 if single else 3e-16, err_msg=(part, measure))


@pytest.mark.parametrize("name", sorted({recording["problem"][:-4]
                                         for recording in RECORDINGS.values()}))
def test_the_distance_matters(name):
    """By raw Euclidean distance some part's mAP is another by a point or more."""
    recording = RECORDINGS[name]
    number = evaluated(recording, metric="euclidean", normalize=False)
    assert max(abs(number(part, "mAP") - answers["mAP"])
               for part, answers in recording["answers"].items()) > .01


def test_the_wrong_names_of_locations():
    """AP3D's and CAL's answers agree only where what AP3D calls same is taken for other."""
    cal, ap3d = (RECORDINGS[name]["answers"] for name in ("mevid", "mevid-ap3d"))
    assert cal == ap3d and cal["same-location"] != cal["other-location"]
    assert "wrong way round" in read_protocol(FOLDER / "proposed/mevid.toml").note
