"""`reid-ref protocols` and `reid-ref evaluate --protocol`."""
import csv
import io
import json

import jsonschema
import numpy as np
import pytest

from reid_ref import Labels, evaluate_distances, evaluate_protocol
from reid_ref.commands.evaluate.show.parts import _first
from reid_ref.protocols import PROTOCOLS
from reid_ref.signature import parse_signature
from tests.cases import save_features
from tests.commands.common import assert_one_line_error
from tests.documents import ROOT, command as run

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


def test_a_note_counts_what_is_loaded():
    """As the signature does: torchreid's loader leaves out label -1."""
    gallery = Labels([7, -1, 8, -1], [1, 2, 2, 2])
    result = evaluate_distances(np.eye(3, 4), Labels([7, 8, -1], [3, 3, 3]), gallery,
                                convention="torchreid")
    note = _first(result)
    assert (note["queries"], note["gallery"]) == (2, 2)
    assert (str(note["queries"]), str(note["gallery"])) == (
        result.signature["queries"], result.signature["gallery"])


@pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")
class TestEvaluate:
    def test_table(self, file):
        text = run("evaluate", file, "--protocol", "SYSU-MM01-python").stdout
        for name, part in expected(file).items():
            assert f"\n{name} " in text and f"{100 * part.mAP:.2f}" in text
            assert f"{name}: {part.trials[0].counted} of 24 queries counted" in text
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
        signature = parse_signature(part["signature"])
        assert signature["ci"] == "identity-analytic" and signature["seed"] == "0"
        assert wanted.signature.items() <= signature.items()

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
        assert_one_line_error(run("evaluate", file, other, "--protocol", "msmt17"),
                              "FILE: .*one result, for msmt17 has one trial")

    @pytest.mark.parametrize("words, message", [
        ("evaluate FILE --protocol sysu", "--trials: .*rand_perm_cam.mat"),
        ("evaluate FILE --protocol sysu-mm02", "--protocol: .*did you mean 'sysu-mm01'"),
        ("evaluate FILE --part all", "--part: .*--protocol"),
        ("evaluate FILE --protocol sysu-mm01", "--trials: .*rand_perm_cam.mat"),
        ("evaluate FILE --protocol ltcc", "query: .*labels with clothes"),
        ("evaluate FILE --protocol mars --convention mars", "--convention: .*--protocol"),
        ("evaluate FILE --protocol sysu-mm01-python --expect mAP=3", "--part: .*all, indoor"),
        ("evaluate FILE --protocol mars --strict", "--strict: .*--protocol"),
        ("evaluate FILE --protocol mars --name a", "--protocol: .*one result"),
        ("evaluate FILE --protocol vehicleid --save x.json", "query, gallery: .*the same"),
        ("evaluate FILE --protocol sysu-mm01-python --shots 3", "--shots: .*1 or 10"),
        ("evaluate FILE --protocol sysu-mm01-python --shots 0", "--shots: .*from 1"),
        ("evaluate FILE --protocol mars --trials absent.npz", "absent.npz: .*rand_perm_cam.mat"),
        ("compare FILE FILE --protocol ltcc", "--part: .*one of general, sc, cc"),
        ("compare FILE FILE --protocol sysu-mm01-python --part all --convention matlab",
         "--convention: .*--protocol"),
        ("compare FILE FILE --part all", "--part: .*--protocol"),
        ("report FILE FILE --protocol ltcc -o x.html", "--part: .*one of general"),
        ("report FILE FILE --protocol sysu-mm01-python --part all --images . -o x.html",
         "--images: .*--protocol"),
        ("rerank FILE FILE --protocol ltcc", "--protocol: .*one gallery"),
    ])
    def test_wrong_options(self, file, words, message):
        given = [file if word == "FILE" else word for word in words.split()]
        assert_one_line_error(run(*given, cwd=file.parent), message)
        assert list(file.parent.iterdir()) == [file]


@pytest.mark.filterwarnings(
    "ignore::reid_ref.BenchmarkWarning", "ignore::reid_ref.IntervalWarning")
class TestLikeAnyResult:
    """What takes a result takes a part: made on the fly, or saved."""

    PART = ("--protocol", "sysu-mm01-python", "--part", "all")

    @pytest.fixture
    def files(self, file):
        other = file.with_name("other.npz")
        save_features(other, np.random.default_rng(1).random((2, 24, 4)), QUERY, GALLERY)
        for path in (file, other):
            done = run("evaluate", path, *self.PART, "--save", path.with_suffix(".json"))
            assert done.returncode == 0
        return [file, other]

    def saved(self, files):
        return [path.with_suffix(".json") for path in files]

    @pytest.mark.parametrize(("command", "more"), [("compare", ()),
                                                   ("evaluate", ("--mean", "runs"))])
    def test_saved_is_the_same_as_on_the_fly(self, files, command, more):
        options = "--measure", "mAP,Rank-1,P@3", "--resamples", "199", "--json", *more
        fresh = json.loads(run(command, *files, *self.PART, *options).stdout)
        saved = json.loads(run(command, *self.saved(files), *options).stdout)
        assert {**fresh, "files": 0, "warnings": 0} == {**saved, "files": 0, "warnings": 0}

    def test_a_difference_is_that_of_the_evaluations(self, files):
        answer = json.loads(run("compare", *files, *self.PART, "--json").stdout)
        numbers = [json.loads(run("evaluate", path, *self.PART, "--json").stdout)["parts"][0]
                   for path in files]
        for change in answer["comparisons"]:
            first, second = (values[change["metric"]] for values in numbers)
            assert change["difference"] == pytest.approx(second - first, abs=1e-15)

    def test_a_saved_part_is_shown(self, files):
        part = expected(files[0], part="all")
        text = run("evaluate", self.saved(files)[0]).stdout
        assert "part all of protocol sysu-mm01-python" in text and repr(part.mAP) in text
        assert "trials    10: the numbers are means over them (sd mAP " in text
        shape = {"$ref": "#/$defs/saved_trials"}
        schema = json.loads((ROOT / "docs/schema.json").read_text())
        jsonschema.Draft202012Validator({**schema, "anyOf": [shape]}).validate(
            json.loads(self.saved(files)[0].read_text()))

    def test_values_of_each_query(self, file):
        path = file.with_name("queries.csv")
        run("evaluate", file, *self.PART, "--per-query", path)
        rows = list(csv.DictReader(io.StringIO(path.read_text())))
        assert len(rows) == 240
        trial = expected(file, part="all").trials[3]
        assert [float(row["ap"]) for row in rows[72:96]] == trial.per_query.ap.tolist()

    def test_values_in_json_are_of_one_trial(self, file):
        path = file.with_name("queries.json")
        done = run("evaluate", file, *self.PART, "--per-query", path, "--save",
                   file.with_name("saved.json"))
        assert_one_line_error(done, "--per-query: .*ends in .csv")
        assert not list(file.parent.glob("*.json"))
        assert run("evaluate", file, "--protocol", "mars", "--per-query", path).returncode == 0

    @pytest.mark.parametrize("options, code, told", [
        (["--expect", "mAP={0:.2f}"], 0, ""), (["--expect", "mAP=3"], 3, "mAP is"),
        (["--fail-under", "Rank-1=99.9"], 4, "Rank-1 is"),
        (["--baseline", "{1}"], 2, "")])  # of three identities
    def test_gates(self, files, options, code, told):
        percent = 100 * expected(files[0], part="all").mAP
        options = [option.format(percent, self.saved(files)[0]) for option in options]
        done = run("evaluate", files[0], *self.PART, *options)
        assert done.returncode == code
        assert ("failed: " in done.stderr) == bool(told)

    def test_details_of_a_part(self, file):
        done = run("evaluate", file, *self.PART, "--at", "3", "--by", "camera", "--worst", "1",
                   "--json")
        part, = json.loads(done.stdout)["parts"]
        wanted = expected(file, part="all")
        assert part["at"][0]["recall"] == wanted.at(3).recall
        assert [row["camera"] for row in part["by"]["camera"]] == [3, 6]
        assert part["worst"][0]["ap"] == wanted.per_query.ap.min()

    def test_columns_of_a_table_are_named_by_protocol(self, file):
        paths = [file.with_name(f"{part}.json") for part in ("all", "indoor")]
        for path in paths:
            run("evaluate", file, "--protocol", "sysu-mm01-python", "--part", path.stem, "--save",
                path)
        files = ",".join(map(str, paths))
        answer = json.loads(run("compare", f"ours={files}", f"ours={files}", "--json").stdout)
        assert list(answer["benchmarks"]) == ["sysu-mm01-python", "sysu-mm01-python indoor"]

    def test_a_report(self, files):
        page = files[0].with_name("page.html")
        done = run("report", *files, *self.PART, "-o", page)
        assert done.returncode == 0
        text = page.read_text()
        assert "part all of protocol sysu-mm01-python" in text
        assert f"{100 * expected(files[0], part='all').mAP:.2f}" in text

    def test_a_saved_part_takes_no_protocol(self, files):
        for command in ("evaluate", "compare", "report"):
            more = ["-o", files[0].with_name("x.html")] if command == "report" else []
            assert_one_line_error(run(command, *self.saved(files), *self.PART, *more),
                                  "--protocol: .*features or distances")

    def test_an_expectation(self, tmp_path):
        labels = Labels(np.repeat(np.arange(9), 3), np.zeros(27))
        pool, saved = tmp_path / "pool.npz", tmp_path / "saved.json"
        save_features(pool, [np.random.default_rng(0).random((27, 4))] * 2, labels, labels)
        of_pool = "--protocol", "vehicleid"
        done = run("evaluate", pool, *of_pool, "--expect", "mAP=3", "--save", saved,
                   "--per-query", tmp_path / "x.csv")
        assert done.returncode == 3
        assert len((tmp_path / "x.csv").read_text().splitlines()) == 28
        jsonschema.validate(json.loads(saved.read_text()),
                            json.loads((ROOT / "docs/schema.json").read_text()))
        assert run("evaluate", pool, *of_pool, "--baseline", saved).returncode == 0
        fresh, kept = (json.loads(run("compare", *files, "--json").stdout)
                       for files in ((pool, pool, *of_pool), (saved, saved)))
        assert fresh["values"]["pool"] == kept["values"]["saved"]
        shown = run("evaluate", saved).stdout
        assert "none: the expectation over all galleries (sd of one draw mAP" in shown
        assert "\nties" not in shown  # of each gallery its own
        for command in (["evaluate", saved], ["compare", saved, saved]):
            assert f"{100 * kept['values']['saved']['mAP']:.2f}" in run(*command).stdout
        done = run("evaluate", pool, *of_pool, "--per-query", tmp_path / "x.json")
        assert done.returncode == 2 and "where the numbers are no plain means" in done.stderr
        assert_one_line_error(run("report", saved, "-o", tmp_path / "x.html"), "which has none")


class TestCounts:
    @pytest.fixture
    def mars(self, tmp_path):
        """A file with as many tracklets as MARS without those of the queries."""
        rng = np.random.default_rng(0)
        query, gallery = (Labels(rng.integers(1, 90, n), rng.integers(1, 7, n))
                          for n in (1980, 9330))
        save_features(tmp_path / "mars.npz", [rng.random((1980, 2)), rng.random((9330, 2))],
                      query, gallery)
        return tmp_path / "mars.npz"

    TOLD = "the counts are those of MARS: --protocol mars-torchreid evaluates it"

    def test_evaluate_says_it_once(self, tmp_path):
        rng, regdb = np.random.default_rng(0), Labels(np.repeat(range(1, 207), 10), [0] * 2060)
        save_features(tmp_path / "r.npz", [rng.random((2060, 2))] * 2, regdb, regdb)
        told = [line for line in run("evaluate", tmp_path / "r.npz").stderr.splitlines()
                if "regdb" in line.casefold() and "ignored=nothing" not in line]
        assert told == ["reid-ref: warning: the counts are those of RegDB: --protocol regdb or "
                        "--protocol regdb-deen evaluates it as its code does"]

    def test_evaluate_and_the_doctor_say_whose_they_are(self, mars):
        assert self.TOLD in run("evaluate", mars).stderr
        assert self.TOLD not in run("evaluate", mars, "--convention", "torchreid").stderr
        assert self.TOLD in " ".join(run("doctor", mars).stdout.split())
        assert json.loads(run("doctor", mars, "--json").stdout)["protocols"] == ["mars-torchreid"]


class TestProtocols:
    def test_list(self):
        text = run("protocols").stdout
        assert [name for name in PROTOCOLS if f"\n{name} " not in text] == []

    def test_a_file_with_one_trial_and_no_source(self, file):
        path = file.with_name("night.toml")
        text = ('name = "night"\nconvention = {base = "matlab"}\nparts = [{name = "all", '
                'ignored = ["IGNORED"]}]\ntrials = {kind = "seeded", n = 1, unit = ["identity"]}')
        path.write_text(text.replace("IGNORED", "label -1"))
        page = " ".join(run("protocols", path).stdout.split())
        assert page.startswith("name night benchmark - trials 1 gallery, one image of each "
                               "identity drawn by Python's random, seed 0 part all: ")
        assert run("evaluate", file, "--protocol", path).stdout.startswith("protocol  night\n")
        path.write_text(text.replace("IGNORED", "foo"))
        assert "known: label -1; same identity, same camera; same camera; " in run(
            "protocols", path).stderr

    @pytest.mark.parametrize("name", PROTOCOLS)
    def test_page(self, name):
        text = " ".join(run("protocols", name).stdout.split())
        protocol = PROTOCOLS[name]
        assert [words for words in (
            protocol.source, protocol.prepare, protocol.note, f"--protocol {name}")
            if words not in text] == []
        assert json.loads(run("protocols", name, "--json").stdout)["name"] == name
