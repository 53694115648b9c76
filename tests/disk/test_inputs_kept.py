"""No output of any command replaces a file that is read: every pair that the parser knows."""
import argparse
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from reid_ref.cli.parser import make_parser
from tests.cases import save
from tests.commands.common import MARKET, assert_one_line_error, command
from tests.commands.report.seen import market, names_of, write_images

#: What an option takes that is no file, folder or beginning of a file's name.
WORDS = ("NAME", "NAME[,NAME]", "MEASURE[,MEASURE]", "NAME=VALUE", "KEY=VALUE", "SIZE", "K[,K]",
         "K", "N", "N[,N]", "X", "RANKS", "PERCENT", "NAME=PERCENT[,...]", "POINTS", "LENGTH",
         "RANK1/MAP", "KEY", "TEXT", "SPEC", "SECONDS", "ROLE=NAME[,...]", "KEY | BENCHMARK",
         "RATE[,RATE]", "S[,S]")
#: The metavar of an option that takes a file or a folder.
FILES = ("FILE", "DIR", "PREFIX", "GROUND_TRUTH", "RANKED_LIST", "ROOT", "UNIT", ("GOOD", "JUNK"),
         "SYSTEM")
#: Calls of each command that writes, which together name all of its files.
CALLS = {
    "evaluate": [
        "in.npz --confidence --unit groups.txt --baseline old.json --save out/s.json "
        "--per-query out/q.csv",
        "arrays --per-query out/q.json",
        "in.npz --convention veri --index-lists good.txt junk.txt --per-query out/q.csv",
        "lists.txt --labels query.csv gallery.csv --n-good n.txt --save out/s.json",
        "in.npz --protocol msmt17 --trials trials.json --save out/s.json",
        "old.json --save out/s.json", "in.npz --save out/e.run"],
    "plot": [
        "rank-lists in.npz --images root --query-names q.txt --gallery-names g.txt "
        "--query 0 -o out/p.png",
        "cmc in.npz --convention veri --index-lists good.txt junk.txt --output out/p.svg"],
    "report": ["in.npz --images root --query-names q.txt --gallery-names g.txt -o out/r.html "
               "--queries 1 --top 1"],
    "thresholds": [
        "in.npz --convention veri --index-lists good.txt junk.txt --confidence --unit identity "
        "--save out/t.json"],
}


def commands():
    """Every command's parser, by name."""
    subparsers, = (action for action in make_parser()._actions
                   if isinstance(action, argparse._SubParsersAction))
    return subparsers.choices


def files_of(parser):
    """The arguments of a command that take a file, by their longest name."""
    taken = {}
    for action in parser._actions:
        free = action.nargs != 0 and action.type is None and action.choices is None
        if free and action.metavar not in WORDS:
            taken[max([action.dest, *action.option_strings], key=len)] = action
    return taken


def named(command, words):
    """The arguments of a command that a call names."""
    args = vars(commands()[command].parse_args(words.split()))
    return {name for name, action in files_of(commands()[command]).items()
            if args[action.dest] is not None}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder of every kind of input."""
    folder = tmp_path_factory.mktemp("whole")
    query, gallery = market(8)  # as many as a baseline takes
    rng = np.random.default_rng(0)
    distances = rng.random((len(query), len(gallery)))
    save(folder / "in.npz", distances, query, gallery)
    (folder / "arrays").mkdir()
    with np.load(folder / "in.npz") as stored:
        for name in stored.files:
            np.save(folder / "arrays" / f"{name}.npy", stored[name])
    lines = {
        "groups.txt": query.identity % 2, "n.txt": [7] * len(query),
        "trials.json": ["[[null, [0, 1, 2, 3, 4, 5, 6, 7]]]"],
        "good.txt": ["1 2"] * len(query), "junk.txt": ["3"] * len(query),
        "lists.txt": [" ".join(map(str, 1 + row)) for row in distances.argsort(1)]}
    for side, labels in (("query", query), ("gallery", gallery)):
        names = names_of(labels, side)
        write_images(folder / "root", names, labels)
        lines[f"{side[0]}.txt"] = names
        lines[f"{side}.csv"] = ["identity,camera", *(
            f"{identity},{camera}" for identity, camera in zip(labels.identity, labels.camera))]
    for name, content in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in content))
    done = command("evaluate", "in.npz", "--save", "old.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_every_argument_that_takes_a_file_is_known():
    for name, parser in commands().items():
        for argument, action in files_of(parser).items():
            assert action.metavar in FILES, (name, argument, "a file, or one more of WORDS?")


@pytest.mark.parametrize("name", commands())
def test_the_calls_name_every_file_of_a_command_that_writes(name):
    writes = {argument for argument, action in files_of(commands()[name]).items()
              if "write" in action.help or "draw" in action.help}
    assert bool(writes) == (name in CALLS)
    if writes:
        assert set().union(*(named(name, words) for words in CALLS[name])) == set(
            files_of(commands()[name])) - ({"--trials"} if name == "report" else set())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "words"), [
    (name, words) for name, calls in CALLS.items() for words in calls])
def test_no_output_replaces_an_input(whole, tmp_path, monkeypatch, name, words):
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    (folder / "out").mkdir()
    before = contents(folder)
    done = command(name, *words.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    outputs = [path for path in contents(folder) if path not in before]
    assert outputs
    for path in outputs:
        path.unlink()
    given = {folder / word for word in words.split()}
    inputs = [path for path in before if given & {path, *path.parents}
              and ("root" not in path.parts or "query" in path.parts)]
    assert inputs
    # What takes long draws a bar, and none is drawn before the refusal.
    monkeypatch.setattr("reid_ref.console.options.progress_bar", None)
    for output in outputs:
        for source in inputs:
            for link in (os.symlink, os.link):
                link(source, output)
                refused = command(name, *words.split(), cwd=folder)
                assert_one_line_error(refused, "which is read; give another name")
                output.unlink()
                assert contents(folder) == before, (output, source, link)


def test_one_file_under_the_name_of_two_outputs(tmp_path):
    for words in (["evaluate", MARKET, "--save", "a.json", "--per-query", "./a.json"],
                  ["evaluate", MARKET, "--save", "b.run"]):
        Path(tmp_path, "b.run").unlink(missing_ok=True)
        Path(tmp_path, "b.run").symlink_to("b.qrels")
        assert_one_line_error(command(*words, cwd=tmp_path), "different files")
