"""The help of each command: its usage, its examples, which run, and its length."""
import re
import shlex

import pytest

from reid_ref.cli.parser import make_parser
from reid_ref.commands.evaluate.command import EvaluateRequest
from tests.commands.common import table
from tests.documents import ROOT, command

COMMANDS = make_parser()._subparsers._group_actions[0].choices


def examples_of(name, columns=80):
    """Return the command lines that the help of a command shows."""
    shown = table(name, "--help", COLUMNS=columns)
    block = shown.partition("\nexamples, in a copy of the repository:\n")[2].partition("\n\n")[0]
    return re.sub(r" \\\n +", " ", block).strip().split("\n  ")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_help_run(tmp_path, name):
    for folder in ("fixtures", "docs", "README.md"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    examples = examples_of(name)
    assert examples == examples_of(name, 60) and len(examples) in (2, 3)
    for line in examples:
        program, *words = shlex.split(line)
        done = command(*words, cwd=tmp_path)
        assert (program, words[0]) == ("reid-ref", name)
        assert (done.returncode, "error" in done.stderr) == (0, False) and done.stdout, line


@pytest.mark.parametrize("name", COMMANDS)
def test_a_usage_names_what_must_be_given(name):
    usage = " ".join(table(name, "--help").partition("\n\n")[0].split())
    assert usage.startswith(f"usage: reid-ref {name}")
    optional = [flag for action in COMMANDS[name]._actions if not action.required
                for flag in action.option_strings]
    if name == "validate":  # has a line for each use
        assert usage.count("reid-ref validate") == 6
        assert set(re.findall("--[a-z]+", usage)) <= {*optional}
    else:
        assert usage.endswith(" [options]")
        assert set(re.findall("-[-a-z]+", usage)).isdisjoint(optional)


def test_help_of_evaluate_is_short_and_help_all_is_whole():
    shown, whole = (set(re.findall("^ +(?:-h, )?(--[a-z-]+)", table("evaluate", option), re.M))
                    for option in ("--help", "--help-all"))
    assert table("evaluate", "--help", COLUMNS=80).count("\n") <= 70
    assert shown == {
        "--map", "--convention", "--set", "--metric", "--normalize", "--mean", "--protocol",
        "--format", "--json", "--measure", "--name", "--confidence", "--save", "--expect",
        "--fail-under", "--baseline", "--quiet", "--help", "--help-all"}
    assert whole == shown | {flag for flag, each in EvaluateRequest.table().items()
                             if each.metadata["more"]}
    assert len(whole) > 35
