"""`reid-ref protocols` and `reid-ref evaluate --protocol`."""
import csv
import io
import json

import numpy as np
import pytest

from reid_ref import Labels, evaluate_protocol
from reid_ref.protocols import PROTOCOLS
from tests.cases import save_features
from tests.documents import command as run

QUERY = Labels([7, 8, 9, 7] * 6, [3, 3, 6, 6] * 6)
GALLERY = Labels(np.repeat([7, 8, 9], 8), np.tile([1, 1, 2, 2, 4, 4, 5, 5], 3))


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    save_features(tmp_path / "all.npz", rng.random((2, 24, 4)), QUERY, GALLERY)
    return tmp_path / "all.npz"


def expected(file, protocol="sysu-mm01-python", **options):
    with np.load(file) as arrays:
        return evaluate_protocol(protocol, arrays["query_f"], arrays["gallery_f"], QUERY, GALLERY,
                                 **options)


@pytest.mark.filterwarnings("ignore:.*where the benchmark has", "ignore:regdb is the mean")
class TestEvaluate:
    def test_table(self, file):
        text = run("evaluate", file, "--protocol", "SYSU-MM01-python").stdout
        for name, part in expected(file).items():
            assert f"\n{name} " in text and f"{100 * part.mAP:.2f}" in text
            assert f"{name}: {part.counted} of 24 queries counted" in text
        assert text.count("sd of 10 trials") == 2

    def test_json(self, file):
        answer = json.loads(run("evaluate", file, "--protocol", "sysu-mm01-python", "--part",
                                "indoor", "--json", "--confidence", "--confidence-method",
                                "analytic").stdout)
        part, = answer["parts"]
        wanted = expected(file, part="indoor")
        assert [part["mAP"], part["Rank-1"], part["sd"]] == [wanted.mAP, wanted.rank(1), wanted.sd]
        assert [trial["mAP"] for trial in part["trials"]] == [
            trial.mAP for trial in wanted.trials]
        assert part["intervals"]["mAP"]["value"] == wanted.mAP
        assert part["signature"] == str(wanted.signature)

    def test_csv_and_papers(self, file):
        rows = list(csv.DictReader(io.StringIO(run(
            "evaluate", file, "--protocol", "sysu-mm01-python", "--format", "csv").stdout)))
        assert [float(row["mAP"]) for row in rows] == [part.mAP for part in expected(
            file).values()]
        for form in ("markdown", "latex"):
            text = run("evaluate", file, "--protocol", "sysu-mm01-python", "--format", form).stdout
            assert f"{100 * expected(file)['all'].mAP:.2f}" in text

    def test_trials_of_a_file(self, file):
        trials = file.with_name("trials.json")
        trials.write_text("[[null, [0, 9, 17]], [null, [1, 8, 16]]]")
        answer = json.loads(run("evaluate", file, "--protocol", "sysu-mm01", "--trials", trials,
                                "--part", "all", "--json").stdout)
        wanted = expected(file, "sysu-mm01", part="all",
                          trials=[(None, [0, 9, 17]), (None, [1, 8, 16])])
        assert answer["parts"][0]["mAP"] == wanted.mAP

    def test_files_that_are_trials(self, file):
        other = file.with_name("other.npz")
        save_features(other, np.random.default_rng(1).random((2, 24, 4)), QUERY, GALLERY)
        answer = run("evaluate", file, other, "--protocol", "regdb", "--json")
        first, second = (expected(each, "regdb") for each in (file, other))
        for part in json.loads(answer.stdout)["parts"]:
            assert [trial["mAP"] for trial in part["trials"]] == [
                result[part["part"]].mAP for result in (first, second)]
        assert "regdb is the mean of 10 trials, and these are 2" in " ".join(answer.stderr.split())
        answer = run("evaluate", file, other, "--protocol", "msmt17")
        assert answer.returncode == 2 and answer.stderr.startswith(
            "reid-ref: error: FILE: expected one result: msmt17 has no trials")

    @pytest.mark.parametrize("options, message", [
        (["--protocol", "sysu"], "--protocol: expected sysu-mm01 or sysu-mm01-python, which"),
        (["--part", "all"], "--part: expected --protocol with it"),
        (["--protocol", "sysu-mm01"], "--trials: expected rand_perm_cam.mat"),
        (["--protocol", "ltcc"], "query: expected labels with clothes, got none"),
        (["--protocol", "mars", "--convention", "mars"], "--convention: expected no protocol"),
        (["--protocol", "mars", "--expect", "mAP=3"], "--expect: expected no protocol"),
        (["--protocol", "sysu-mm01-python", "--shots", "3"], "--shots: expected 1 or 10, got 3"),
        (["--protocol", "sysu-mm01-python", "--shots", "0"], "--shots: "),
        (["--protocol", "mars", "--trials", "absent.npz"], "absent.npz: expected rand_perm_cam"),
    ])
    def test_wrong_options(self, file, options, message):
        answer = run("evaluate", file, *options)
        assert answer.returncode == 2 and answer.stdout == ""
        assert answer.stderr.splitlines()[-1].startswith(f"reid-ref: error: {message}")


class TestProtocols:
    def test_list(self):
        text = run("protocols").stdout
        assert all(f"\n{name} " in text for name in PROTOCOLS)

    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_page(self, name):
        text = " ".join(run("protocols", name).stdout.split())
        protocol = PROTOCOLS[name]
        assert all(words in text for words in (
            protocol.source, protocol.prepare, protocol.note, f"--protocol {name}"))
        assert json.loads(run("protocols", name, "--json").stdout)["name"] == name
