"""Write the man page from the parser: `python docs/man.py > reid-ref.1`; `man ./reid-ref.1`."""
from __future__ import annotations

import argparse

import reid_ref
from reid_ref.cli.parser import make_parser


def man_page() -> str:
    """Return the page in roff, as man(7) describes it."""
    parser = make_parser()
    lines = [f'.TH REID-REF 1 "" "reid-ref {reid_ref.__version__}" "User Commands"', ".SH NAME",
             "reid-ref \\- " + _roff("the reference evaluator of person re-identification"),
             ".SH SYNOPSIS", ".B reid-ref", ".I COMMAND", "[options]", ".SH DESCRIPTION",
             _roff(parser.description or ""), ".SH OPTIONS", *_options(parser)]
    for name, command in commands(parser).items():
        lines += [f'.SH "{_roff(name).upper()}"', f".B reid-ref {_roff(name)}",
                  _roff(_usage(command)), ".PP", _roff(command.description or ""),
                  *_options(command), *([".PP", _roff(command.epilog)] if command.epilog else [])]
    return "\n".join(lines) + "\n"


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _usage(command: argparse.ArgumentParser) -> str:
    """Return the arguments of a command in brief, without its name."""
    words = command.format_usage().split()
    return " ".join(words[words.index(command.prog.split()[-1]) + 1:])


def _options(parser: argparse.ArgumentParser) -> list[str]:
    lines = []
    for action in parser._actions:
        if action.help is not None and not isinstance(action, argparse._SubParsersAction):
            metavar = action.metavar or ("" if action.nargs == 0 else
                                         "|".join(map(str, action.choices or [action.dest])))
            value = " ".join(metavar) if isinstance(metavar, tuple) else metavar
            named = ", ".join(action.option_strings)
            names = [f"\\f{font}{_roff(text)}\\fR" for font, text in (("B", named), ("I", value))
                     if text]
            lines += [".TP", " ".join(names), _roff(action.help.replace("%%", "%"))]
    return lines


def _roff(text: str) -> str:
    """Return text whose backslashes, hyphens, dots and quotes mean themselves."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\\&" + text if text.startswith(".") else text


if __name__ == "__main__":
    print(man_page(), end="")
