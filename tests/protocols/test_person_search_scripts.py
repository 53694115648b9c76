"""Person search as the codes' own test scripts print it, from features of varying norms on.

`fixtures/test_scripts/made_group3.py` makes the boxes; the .json files say which script was run.
"""
import json

import pytest

from reid_ref.protocols import evaluate_person_search, read_boxes
from tests.documents import ROOT, command

FOLDER = ROOT / "fixtures/test_scripts"
RECORDINGS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))
              if path.stem.startswith(("prw", "cuhk-sysu"))}
#: The code, its least scores for CUHK-SYSU and PRW, and whether its script normalises.
CODES = {"": (.5, .5, False), "-coat": (.5, .5, False), "-solider": (.5, .5, False),
         "-nae4ps": (.5, .5, False), "-alignps": (.2, .15, True), "-pstr": (.25, .3, True)}


def evaluated(recording, **changes):
    given = {**recording["given"], **changes}
    return evaluate_person_search(given.pop("protocol"), read_boxes(FOLDER / recording["problem"]),
                                  **given)


def test_each_code_is_recorded_with_its_score():
    for benchmark, place in (("cuhk-sysu", 0), ("prw", 1)):
        for code, of_code in CODES.items():
            given = RECORDINGS[f"{benchmark}{code}"]["given"]
            assert given["protocol"] == benchmark
            assert (given.get("min_score", .5), given.get("normalize", False)) == (
                of_code[place], of_code[2])


@pytest.mark.parametrize("name", ["prw", "prw-alignps", "cuhk-sysu", "cuhk-sysu-pstr"])
def test_score_and_norms_matter(name):
    """Another score or normalisation gives another mAP, so that a recording holds both."""
    recording = RECORDINGS[name]
    part, = recording["answers"]
    given = recording["given"]
    for changes in ({"min_score": .9}, {"normalize": not given.get("normalize", False)}):
        changed = evaluated(recording, **changes)[part].mAP
        assert abs(changed - recording["answers"][part]["mAP"]) > 1e-3


@pytest.mark.parametrize(("protocol", "words"), [
    ("prw", "detections: those of score 0.5 or more (--min-score, --boxes-per-image)"),
    ("prw-matlab", "detections: all (--min-score, --boxes-per-image)")])
def test_the_screens_name_the_score(protocol, words):
    for answer in (command("evaluate", FOLDER / "prw.npz", "--protocol", protocol),
                   command("protocols", protocol)):
        assert words in " ".join(answer.stdout.split())


def test_the_command_of_the_page_gives_the_number_of_alignps():
    page = (ROOT / "docs/person-search.md").read_text()
    line = "reid-ref evaluate boxes.npz --protocol prw --min-score 0.15 --normalize"
    assert f"```\n{line}\n```" in page
    out = command("evaluate", FOLDER / "prw.npz", *line.split()[3:], "--json").stdout
    assert json.loads(out)["parts"][0]["mAP"] == pytest.approx(
        RECORDINGS["prw-alignps"]["answers"]["all"]["mAP"], abs=3e-16, rel=0)
