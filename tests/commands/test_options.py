"""One way to ask: options that mean the same in every command, and several files in one table."""
import argparse
import csv
import gc
import json
import re
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reid_ref import cli
from reid_ref.cli.parser import make_parser
from reid_ref.console import answers, options
from reid_ref.console.answers import FORMATS as RECORDS
from reid_ref.console.files import _names_of_files
from reid_ref.conventions import CONVENTIONS, choices_of_text
from reid_ref.files import results_of_files
from reid_ref.files.image_names import form_of
from reid_ref.text.table import Table
from tests.commands.common import (
    FIXTURES, MARKET, MARS, TIES, answer, assert_one_line_error, command, results, table)
from tests.refusals import refused

#: What Octave made of the fixtures with the scripts.
MAP = {name: json.loads((FIXTURES / f"{name}.json").read_text())["map"]
       for name in ("market_like", "mars_like", "ties")}
#: The parser of each command.
SUBPARSERS = make_parser()._subparsers._group_actions[0].choices
LABELS = {"q_pids": [7], "q_camids": [1], "g_pids": [7, 8, 7], "g_camids": [2, 2, 3]}


@pytest.fixture
def small(tmp_path):
    """One query; its good images stand at ranks 2 and 3 in a.npz, and at 1 and 3 in b.npz."""
    np.savez(tmp_path / "a.npz", distmat=[[.2, .1, .3]], **LABELS)
    np.savez(tmp_path / "b.npz", distmat=[[.1, .2, .3]], **LABELS)
    return tmp_path


# ---------------------------------------------------------------- options together

def pairs_of_options(kind):
    """Every option of every command beside one that it needs, or does not go with."""
    for name, command_parser in SUBPARSERS.items():
        request = command_parser.get_default("request")
        taken = {flag: each for flag, each in request.table().items()
                 if flag in command_parser._option_string_actions}
        for flag, each in taken.items():
            others = [other for other in each.metadata[kind] if other in taken]
            yield from ((name, flag, other) for other in others)


def requested(name, **given):
    """Return the request of a command of these values, and of the figure or format they need."""
    parser = SUBPARSERS[name]
    values = {**parser._defaults, **{each.dest: each.default for each in parser._actions}}
    request = parser.get_default("request")
    only = {field: allowed[0] for each in request.table().values() if each.name in given
            for field, allowed in each.metadata["only"].items()}
    return request.of(SimpleNamespace(**{**values, **only, **given}))


def limited_options(kind):
    """Every option of every command that has limits of a kind, its field and the limits."""
    return [(name, flag, each) for name, parser in SUBPARSERS.items()
            for flag, each in parser.get_default("request").table().items()
            if flag in parser._option_string_actions and each.metadata[kind]]


@pytest.mark.parametrize("name, flag, other", list(pairs_of_options("without")))
def test_options_that_do_not_go_together(name, flag, other):
    table = SUBPARSERS[name].get_default("request").table()
    both = {table[flag].name: ["x"], table[other].name: ["x"]}
    refused(flag, other, requested, name, **both)
    for field, value in both.items():
        if not any(table[each].metadata["needs"] for each in (flag, other)):
            requested(name, **{field: value})


@pytest.mark.parametrize("name, flag, other", list(pairs_of_options("needs")))
def test_options_that_need_another(name, flag, other):
    table = SUBPARSERS[name].get_default("request").table()
    refused(flag, other, requested, name, **{table[flag].name: ["x"]})
    requested(name, **{table[each].name: ["x"] for each in (flag, other)})


@pytest.mark.parametrize("name, flag, option", limited_options("only"))
def test_options_of_some_figures_or_formats_alone(name, flag, option):
    needs = {each.name: ["x"] for each in map(
        SUBPARSERS[name].get_default("request").table().get, option.metadata["needs"])}
    for field, allowed in option.metadata["only"].items():
        for value in allowed:
            requested(name, **{option.name: ["x"], field: value}, **needs)
        refused(flag, " or ".join(allowed), requested, name,
                **{option.name: ["x"], field: "another"}, **needs)


@pytest.mark.parametrize("name, flag, option", limited_options("not_of"))
def test_circumstances_that_options_do_not_go_with(name, flag, option):
    request = SUBPARSERS[name].get_default("request")
    given = request(**{option.name: ["x"], **({"figure": "cmc", "output": "x"}
                                              if name == "plot" else {})} | (
        {"output": "x"} if name == "report" else {}))
    for circumstance in option.metadata["not_of"]:
        assert given.unfit(circumstance) == [flag]
        refused(flag, "this", given.check, circumstance, "that", "this")


# ---------------------------------------------------------------- the same options everywhere

OF_FEATURES = {"--metric", "--normalize", "--no-normalize"}
RANKING = {
    "evaluate": {"--convention", "--set", *OF_FEATURES, "--index-lists", "--max-memory",
                 "--format", "--json", "--name", "--ranks"},
    "rerank": {"--convention", "--set", *OF_FEATURES, "--max-memory", "--format", "--json",
               "--ranks"},
    "thresholds": {"--convention", "--set", *OF_FEATURES, "--index-lists", "--max-memory",
                   "--format", "--json"},
    "explain": {"--set", *OF_FEATURES, "--index-lists", "--max-memory", "--format", "--json"},
    "validate": {"--convention", "--set", "--max-memory", "--format", "--json"},
    "crosscheck": {"--convention", *OF_FEATURES, "--format", "--json"}}


FORMATS = re.compile(r"--format \{([a-z,]+)\}")


def parsers():
    return next(action.choices for action in make_parser()._actions
                if isinstance(action.choices, dict))


def test_an_option_with_a_value_is_given_once():
    """But for those that join their values: each use counts."""
    joined = set()
    for name, parser in parsers().items():
        for action in parser._actions:
            flag = action.option_strings[-1:]
            if not flag or action.const is not None or flag[0] in ("--help", "--help-all"):
                continue
            value = next(iter(action.choices or ["1"]))
            use = [*flag, *[value] * {None: 1, "+": 1}.get(action.nargs, action.nargs)]
            done = command(name, *use, *use)
            assert done.returncode == 2
            if "two" in done.stderr:
                assert re.search(f"argument .*{flag[0]}.*: .*one value", done.stderr)
            else:
                joined.add(flag[0])
    assert joined == {"--convention", "--set", "--name", "--map", "--by", "--expect",
                      "--fail-under", "--published", "--setting"}


def test_a_flag_says_the_same_twice():
    assert table("evaluate", TIES, "--json", "--json", "--quiet", "--quiet") == table(
        "evaluate", TIES, "--json", "--quiet")


def options_of(command):
    """Return the help of each option of a command."""
    return {name: action.help for action in parsers()[command]._actions
            for name in action.option_strings}


@pytest.mark.parametrize("command", RANKING)
def test_an_option_means_the_same_in_every_command(command):
    every = options_of(command)
    evaluate = options_of("evaluate")
    assert every.keys() & RANKING["evaluate"] == RANKING[command]
    for name in RANKING[command] - {"--format", "--convention"}:
        assert every[name] == evaluate[name]


@pytest.mark.parametrize("name", [
    "rerank", "ties", "compare", "thresholds", "scripts", "evaluate", "plot",
    "validate"])
def test_help_offers_several_conventions_where_they_are_taken(name):
    several = name in ("evaluate", "plot", "validate")
    assert ("one or more" in options_of(name)["--convention"]) == several
    files = {"plot": ["cmc", MARKET, "--output", "no.format"],
             "validate": [MARKET, "--published", "81.1/67.6", "--no-search"],
             "compare": [MARKET, MARKET]}.get(name, [MARKET])
    done = command(name, *files, "--convention", "matlab,torchreid", "--quiet")
    assert bool(re.search("--convention: .*one", done.stderr)) != several


@pytest.mark.parametrize("name", sorted(RANKING))
def test_help_of_format_names_formats_of_the_command(name):
    formats = FORMATS.findall(table(name, "--help"))[0].split(",")
    words = options_of(name)["--format"]
    for kind, record in RECORDS.items():
        said = f"{kind} {record.words}" if record.words else kind
        if record.full or record.words:
            assert (f" {said}" in words) == (kind in formats), kind


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("words", [
    ["evaluate"], ["compare", MARKET], ["evaluate", TIES, "--mean", "splits"]],
    ids=lambda words: words[-1])
def test_a_command_of_every_format_prints_each(words, kind):
    done = command(words[0], MARKET, *words[1:], "--quiet", "--format", kind)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout


def test_a_format_is_one_entry(monkeypatch, capsys):
    monkeypatch.setattr(answers, "FORMATS", {
        **RECORDS, "heads": answers.Format("paper", lambda table: " ".join(table.heads))})
    answers.show_answer("heads", paper=lambda: Table(["System", "mAP"], []))
    assert capsys.readouterr().out == "System mAP\n"


# ---------------------------------------------------------------- --set

# By hand, good at ranks 2 and 3 of one query. Trapezoid: before them 0 and 1/2, at them 1/2 and
# 2/3. Step: 1/2 and 2/3. Only the first two images: recall 1/2.
@pytest.mark.parametrize(("options", "mAP", "name"), [
    ([], (0 + 1 / 2 + 1 / 2 + 2 / 3) / 4, "matlab"),
    (["--set", "ap=step"], (1 / 2 + 2 / 3) / 2, "matlab[ap=step]"),
    (["--set", "ap=step,top_k=2"], (1 / 2) / 2, "matlab[ap=step,top_k=2]"),
    (["--set", "ap=step", "--set", "top_k=2"], (1 / 2) / 2, "matlab[ap=step,top_k=2]"),
    (["--set", "ap=step, top_k=2, recall=found"], 1 / 2, "matlab[ap=step,top_k=2,recall=found]"),
    (["--convention", "torchreid", "--set", "ap=trapezoid"], (1 + 2 / 3) / 4,
     "torchreid[ap=trapezoid]"),
    (["--set", "ap=trapezoid"], (1 + 2 / 3) / 4, "matlab"),  # it is that already
    (["--set", "ties=reversed,ap=step"], (1 / 2 + 2 / 3) / 2, "matlab[ties=reversed,ap=step]"),
    # With the query's whole camera ignored, and nothing else, it is the same here.
    (["--set", "ignored=same camera"], (1 + 2 / 3) / 4, "matlab[ignored=same camera]")])
def test_a_choice_is_changed(small, options, mAP, name):
    found = answer("evaluate", small / "a.npz", *options)
    assert found["mAP"] == pytest.approx(mAP, rel=1e-15)
    assert found["signature"].startswith(f"convention:{name}|")


def test_a_choice_is_changed_for_explain_and_validate(small):
    found = answer("explain", small / "a.npz", "--set", "top_k=2")
    assert (found["from"]["convention"], found["from"]["mAP"]) == ("matlab[top_k=2]", .125)
    assert (found["to"]["convention"], found["to"]["mAP"]) == ("torchreid[top_k=2]", .25)
    found = answer("validate", small / "a.npz", "--published", "0/25", "--convention",
                   "matlab,torchreid", "--set", "top_k=2")
    assert [way["convention"] for way in found["candidates"][0]["ways"]] == ["torchreid[top_k=2]"]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_convention_can_be_written_as_choices(name):
    from reid_ref.conventions import CHOICES, choice_text, changed
    fields = [*CHOICES, "top_k"]
    text = ",".join(f"{key}={choice_text(getattr(CONVENTIONS[name], key))}" for key in fields)
    choices = choices_of_text([text], "--set")
    assert choices == {key: getattr(CONVENTIONS[name], key) for key in fields}
    assert changed(CONVENTIONS[name], choices, "--set") is CONVENTIONS[name]


def test_a_long_name_has_a_line_of_its_own():
    done = command("evaluate", MARKET, "--convention", "matlab,torchreid", "--set",
                   "ap=sklearn-0.19,ties=reversed")
    assert max(map(len, done.stdout.splitlines()[1:])) <= 80
    lines = done.stdout.splitlines()
    k = lines.index("torchreid[ap=sklearn-0.19,ties=reversed]")
    assert len(lines[k + 1].split()) == 7 and lines[k + 1].startswith(" " * 32)


# ---------------------------------------------------------------- --ranks

CMC = json.loads((FIXTURES / "market_like.json").read_text())["CMC"]


def test_ranks_in_every_form():
    shown = [f"{100 * CMC[k - 1]:.2f}" for k in (3, 50)]
    lines = table("evaluate", MARKET, "--ranks", "3,50", "--convention",
                  "matlab,mars").splitlines()
    head = next(line.split() for line in lines if line.startswith("convention "))
    assert head == ["convention", "mAP", "diff", "R-3", "R-50", "mINP", "used"]
    assert next(line for line in lines if line.startswith("matlab ")).split()[3:5] == shown
    header, row = csv.reader(table(
        "evaluate", MARKET, "--ranks", "50, 3", "--format", "csv").splitlines())
    assert header[1:4] == ["mAP", "Rank-50", "Rank-3"]
    assert [float(value) for value in row[2:4]] == [CMC[49], CMC[2]]
    for words in (["ties"], ["scripts", "--only", "port"], ["rerank"]):
        lines = table(words[0], MARKET, "--ranks", "3", *words[1:]).splitlines()
        assert [line.split()[0] for line in lines if line.startswith("Rank-")] == ["Rank-3"]


def test_a_rank_beyond_the_curve_is_a_dash(small):
    done = command("evaluate", small / "a.npz", "--ranks", "1,4", "--format", "markdown")
    assert "| a | 41.67 | 0.00 | - | 66.67 |" in done.stdout


# ---------------------------------------------------------------- several files

def test_several_files_one_after_the_other():
    found = results("evaluate", MARKET, MARS, TIES)
    assert {name: one["mAP"] for name, one in found.items()} == MAP
    assert [one["files"] for one in found.values()] == [[MARKET], [MARS], [TIES]]
    assert "reid-ref: warning: market_like: 3 of 48 queries" in command(
        "evaluate", MARKET, MARS).stderr


@pytest.mark.parametrize(("format", "parts"), [
    ("csv", [r"^ours,0.401.*?,0.458", r"^theirs,0.358.*?,0.6,"]),
    ("markdown", [r"^\| ours \| 40.16 \| 45", r"^\| theirs \| 35.83 \| 60",
                  r"^- theirs: `convention:matlab"]),
    ("latex", [r"^ours & 40.16 & 45.83", r"^theirs & 35.83 & 60.00",
               r"^% theirs: convention:matlab"])])
@pytest.mark.parametrize("names", [["--name", "ours,theirs"],
                                   ["--name", "ours", "--name", " theirs"]])
def test_names_of_rows(format, parts, names):
    text = table("evaluate", MARKET, MARS, "--format", format, *names)
    for part in parts:
        assert len(re.findall(part, text, re.MULTILINE)) == 1, text


def test_a_row_for_each_file_and_convention():
    done = command("evaluate", MARKET, MARS, "--convention", "matlab,torchreid", "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["name"] for row in rows] == [
        "market_like (matlab)", "market_like (torchreid)", "mars_like (matlab)",
        "mars_like (torchreid)"]
    assert [float(row["mAP"]) for row in rows[::2]] == [MAP["market_like"], MAP["mars_like"]]
    found = answer("evaluate", MARKET, MARS, "--convention", "matlab,torchreid")["results"]
    assert [f"{result['name']} ({result['convention']})" for result in found] == [
        row["name"] for row in rows]
    assert [str(result["mAP"]) for result in found] == [row["mAP"] for row in rows]


def test_files_of_one_name_are_named_after_their_folders(tmp_path):
    for folder in ("r50", "vit"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pytorch_result.mat").symlink_to(MARKET)
    paths = "r50/pytorch_result.mat", "vit/pytorch_result.mat"
    assert list(results("evaluate", *paths, cwd=tmp_path)) == ["r50", "vit"]
    found = results("evaluate", "pytorch_result.mat", "../vit/pytorch_result.mat", MARS,
                    cwd=tmp_path / "r50")
    assert list(found) == ["r50", "vit", "mars_like"]


def test_files_of_one_name_in_folders_of_one_name_keep_their_paths():
    assert _names_of_files([Path("a/r/x.mat"), Path("b/r/x.mat"), Path("b/y.mat")]) == [
        "a/r/x.mat", "b/r/x.mat", "b/y.mat"]
    assert _names_of_files([Path("/x.mat"), Path("/a/x.mat")]) == ["/x.mat", "/a/x.mat"]


def test_what_belongs_together_is_decided_by_what_is_in_the_files(small):
    a, b = small / "a.npz", small / "b.npz"
    assert results_of_files(a, b) == [[a], [b]] and results_of_files(b) == [[b]]
    for name, value in LABELS.items():
        np.save(small / f"{name}.npy", value)
    np.save(small / "distmat.npy", [[.2, .1, .3]])
    parts = [small / f"{name}.npy" for name in ("distmat", *LABELS)]
    assert results_of_files(*parts) == [parts]
    np.savez(small / "c.npz", distmat=[[.1, .2, .3]], q_pids=[7])
    refused("c.npz", "a file that holds everything", results_of_files, a, small / "c.npz")
    c, d = small / "c.npz", small / "none.npz"
    assert results_of_files(a, c, b) == [[a], [c], [b]]
    assert results_of_files(d, a) == [[d], [a]]
    refused("none.npz", "No such file", results_of_files, *parts, d)


def test_an_error_says_of_which_file(tmp_path):
    np.savez(tmp_path / "short.npz", **{**LABELS, "distmat": [[.1, .2]]})
    assert_one_line_error(command("report", "short.npz", MARS, "-o", "x.html", cwd=tmp_path),
                          "error: short.npz: distmat: .*shape")


def test_of_several_files_the_good_ones_are_evaluated(small):
    """What is wrong with the others is a line each, and the exit code 2."""
    np.savez(small / "short.npz", **{**LABELS, "distmat": [[.1, .2]]})
    np.savez(small / "part.npz", distmat=[[.1, .2, .3]])
    (small / "junk.npz").write_text("no archive")
    bad = "short.npz", "part.npz", "junk.npz", "none.npz"
    done = command("evaluate", "a.npz", *bad, "b.npz", "--json", cwd=small)
    assert done.returncode == 2
    assert [one["name"] for one in json.loads(done.stdout)["results"]] == ["a", "b"]
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    assert [line.split(": ")[2] for line in errors] == [*bad]
    done = command("evaluate", "none.npz", "a.npz", cwd=small)
    assert (done.returncode, "\na " in done.stdout) == (2, True)
    done = command("evaluate", "short.npz", "junk.npz", cwd=small)
    assert (done.returncode, done.stdout) == (2, "")
    # A mean over fewer files would be another number.
    done = command("evaluate", "a.npz", "b.npz", "short.npz", "--mean", "runs", cwd=small)
    assert_one_line_error(done, "error: short.npz: distmat")


def test_one_file_is_in_memory_at_a_time(small, monkeypatch, capsys):
    read, seen, most = options.read_result, [], []

    def counted(*paths, **options):
        gc.collect()
        most.append(sum(one() is not None for one in seen))
        data = read(*paths, **options)
        seen.append(weakref.ref(data.distances))
        return data

    monkeypatch.setattr(options, "read_result", counted)
    np.savez(small / "c.npz", distmat=[[.3, .2, .1]], **LABELS)
    assert cli.main(["evaluate", *(str(small / f"{name}.npz") for name in "abc")]) == 0
    assert most == [0, 0, 0]
    assert "\nc " in capsys.readouterr().out


# ---------------------------------------------------------------- LaTeX


def test_numbers_of_two_conventions_are_not_compared(small):
    text = table("evaluate", small / "a.npz", "--format", "latex", "--convention",
                 "matlab,torchreid")
    assert "matlab & 41.67 & 0.00" in text and "textbf" not in text
    text = table("evaluate", small / "a.npz", small / "b.npz", "--format", "latex", "--convention",
                 "matlab,torchreid", "--ranks", "1")
    rows = [line for line in text.splitlines() if "&" in line and line[0] in "ab"]
    # Of torchreid: (1/2 + 2/3) / 2, and (1 + 2/3) / 2.
    assert rows == [
        r"a (matlab) & 41.67 & 0.00 & \textbf{66.67} \\",
        r"a (torchreid) & 58.33 & 0.00 & \textbf{66.67} \\",
        r"b (matlab) & \textbf{79.17} & \textbf{100.00} & \textbf{66.67} \\",
        r"b (torchreid) & \textbf{83.33} & \textbf{100.00} & \textbf{66.67} \\"]


# ---------------------------------------------------------------- other commands


# ---------------------------------------------------------------- numbers
def test_every_option_that_is_a_number_reads_the_digits_0_to_9_alone():
    """Python reads digits of other scripts, and 1_0 as 10."""
    read = 0
    for name, command_parser in SUBPARSERS.items():
        for action in command_parser._actions:
            assert action.type not in (int, float), (name, action.dest)
            for text in ("١", "1٠", "１", "1_0", "१.५", "") if (
                    action.type not in (None, str.lower)) else ():
                with pytest.raises(argparse.ArgumentTypeError,
                                   match="expected .*number|rates|NAME=VALUE"):
                    action.type(text)
                read += 1
    assert read > 100


@pytest.mark.parametrize("words", [
    ["evaluate", MARKET, "--fail-under", "mAP=٤٠"], ["evaluate", MARKET, "--expect", "mAP=４５"],
    ["evaluate", MARKET, "--expect", "mAP=45", "--tolerance", "٤"],
    ["evaluate", MARKET, "--max-memory", "１G"], ["evaluate", MARKET, "--json", "--cmc", "１"],
    ["evaluate", MARKET, "--cmc", "1" * 5000], ["evaluate", MARKET, "--set", "top_k=１"],
    ["evaluate", MARKET, "--map", "num_query=１"], ["evaluate", MARKET, "--ranks", "１"],
    ["validate", MARKET, "--published", "４５.83/４０.16"],
    ["validate", MARKET, "--published", "mAP=４０.16"],
    ["thresholds", MARKET, "--far", "０.1"], ["rerank", MARKET, "--lambda", "０.3"]])
def test_digits_of_other_scripts_are_refused(words):
    assert_one_line_error(command(*words), "expected|unknown '１'")


def test_digits_of_other_scripts_are_no_labels_of_a_name():
    assert form_of("0002_c1s1_000451_03.jpg") == "market1501"
    assert form_of("٠٠٠٢_c1s1_000451_03.jpg") is None
