"""The help of each command: its usage, its examples, which run, and its length."""
import argparse
import re
import shlex

import pytest

from reid_ref.cli.parser import make_parser
from reid_ref.commands.evaluate.command import EvaluateRequest
from reid_ref.console.words import ROWS, WORDS, words_of
from tests.commands.common import table
from tests.documents import ROOT, command

PARSER = make_parser()
COMMANDS = PARSER._subparsers._group_actions[0].choices


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


# ---------------------------------------------------------------- the words of options

def said(section, name):
    """Return the actions of a name that a row of the table may be of."""
    every = {"reid-ref": PARSER, **COMMANDS}
    return [action for parser in ([every[section]] if section in every else every.values())
            for action in parser._actions if name in (*action.option_strings, action.dest)]


def test_every_option_has_words_and_every_row_is_an_option():
    told = set()
    for section, rows in WORDS.items():
        assert len(rows) == len(ROWS[section]), section
        for name, (_, text) in rows.items():
            words = re.compile(re.sub(r"\\\{\w+\\\}", ".*", re.escape(text)))
            actions = {id(action) for action in said(section, name)
                       if words.fullmatch(action.help or "")}
            assert actions, (section, name)
            told |= actions
    untold = [action.option_strings or action.dest for parser in (PARSER, *COMMANDS.values())
              for action in parser._actions
              if id(action) not in told and action.help != argparse.SUPPRESS
              and not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))]
    assert untold == [] and len(told) > 150


def test_an_option_without_words_is_an_error():
    assert words_of("--metric", "compare")["metavar"] == "NAME"
    assert words_of("--index-lists")["metavar"] == ("GOOD", "JUNK")
    for name, section in (("--metrics", "evaluate"), ("--underline", "evaluate")):
        with pytest.raises(KeyError, match=name):
            words_of(name, section)
