"""The arguments of `reid-ref`: one parser for each command."""
import argparse
import difflib
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from reid_ref._version import __version__
from reid_ref.console.terminal import print_stderr, show_plain
from reid_ref.console.words import add_argument
from reid_ref.text import row, wrap

#: As CITATION.cff of the repository has it, which an installed package lacks.
AUTHOR = "The reid-ref authors"
#: By group, each command and its line in the list; not read by reid_ref.disk, which loads numpy.
GROUPS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text("utf-8"))
#: Inner braces keep capitals, and the name of a group in one piece.
BIBTEX = GROUPS.pop("cite")["bibtex"] % (AUTHOR, __version__)
#: Other words for commands, and what each means, for "did you mean".
MEANT = GROUPS.pop("other words")
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}


def make_parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands.

    With the words of a command line, only commands that they name get their arguments, so that
    the modules of the others are not imported.
    """
    parser = _Parser(
        prog="reid-ref", usage="reid-ref COMMAND ... [--help]",
        description="The reference evaluator of person re-identification: Rank-k and mAP, bit "
                    "for bit with the MATLAB scripts.",
        epilog="\n".join(_list_of_commands()), formatter_class=_WholeWords)
    add_argument(parser, "--version", action="version", version=_version(argv or ()))
    add_argument(parser, "--cite", action="version", version=BIBTEX)
    commands = parser.add_subparsers(prog="reid-ref", metavar="COMMAND")
    parser.set_defaults(run=parser.run_without_command, request=None, quiet=False)
    named = COMMANDS if argv is None else COMMANDS.keys() & argv
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, formatter_class=_WholeWords)
        if name in named:
            room = import_module(f"reid_ref.commands.{name.replace('-', '_')}")
            if not hasattr(room, "run"):
                room = import_module(f"{room.__name__}.command")
            request = get_type_hints(room.run).get("request")
            command.set_defaults(run=room.run, request=request)
            _describe(command, room.add.__doc__ or "")
            room.add(command)
            command.set_defaults(more=[
                flag for flag, each in (request.table() if request else {}).items()
                if each.metadata["more"] and flag in command._option_string_actions])
        add_argument(command, "--quiet", action="store_true")
        if command.get_default("more"):
            add_argument(command, "--help-all", action=_HelpAll, nargs=0)
    return parser


def _describe(command: argparse.ArgumentParser, docstring: str) -> None:
    """Take the help from a docstring, which -OO leaves out: what the command does, its usages, if
    there are several, examples, and remarks.
    """
    for paragraph in docstring.split("\n\n"):
        title, _, words = paragraph.strip().rpartition(":\n")
        lines = [line.strip() for line in words.splitlines()]
        if title == "Usage":
            command.usage = f"\n{' ' * len('usage: ')}".join(lines)
        elif title == "Examples":
            command.add_argument_group("examples, in a copy of the repository", "\n".join(lines))
            command._action_groups.insert(0, command._action_groups.pop())
        elif command.description is None:
            command.description = " ".join(paragraph.split())
        else:
            command.epilog = " ".join(paragraph.split())


def _version(argv: Sequence[str]) -> str:
    if not {"--version", "--verbose"} <= set(argv):
        return f"reid-ref {__version__}"
    from reid_ref.cli.about import environment  # takes long to load

    return environment()


def _list_of_commands() -> Iterator[str]:
    for group, commands in GROUPS.items():
        yield f"{group}:"
        for name, line in commands.items():
            yield from row(f"  {name}", line, 16)
    yield "\nreid-ref COMMAND --help shows the options of a command."


class _Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        """Return the help without argparse's own list of commands, which has no groups, and
        without the options that only --help-all shows.
        """
        hidden = {action: action.help for action in self._actions
                  if isinstance(action, argparse._SubParsersAction)
                  or set(action.option_strings) & set(self.get_default("more") or ())}
        for action in hidden:
            action.help = argparse.SUPPRESS
        try:
            return super().format_help()
        finally:
            for action, text in hidden.items():
                action.help = text

    def run_without_command(self, _: argparse.Namespace) -> None:
        self.print_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        # A command's parser would hand what it does not know to the parser of all commands,
        # whose help does not list the command's options.
        self._given: dict[str, argparse.Action] = {}
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            similar = [near for word in unknown if word.startswith("--") for near in
                       difflib.get_close_matches(word.partition("=")[0],
                                                 self._option_string_actions, 1, .75)]
            self.error(f"unrecognized arguments: {' '.join(unknown)}"
                       + (f", did you mean {', '.join(similar)}?" if similar else ""))
        return parsed, unknown

    def _get_values(self, action: argparse.Action, words: list[str]) -> Any:
        # argparse keeps the last of two values: the gate that was given first would be dropped.
        # A flag may be given twice; options declared as "append" join their values.
        if action.option_strings and not isinstance(action, argparse._AppendAction):
            before = self._given.get(action.dest)
            if before is not None and (before is not action or action.const is None):
                other = "" if before is action else f", one by {before.option_strings[0]}"
                raise argparse.ArgumentError(action, f"expected one value, got two{other}")
            self._given[action.dest] = action
        return super()._get_values(action, words)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse takes no notice of a help that could not be printed.
        if file is None or file is sys.stdout:
            show_plain(message.rstrip("\n"))
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        if typed := re.match("argument COMMAND: invalid choice: '(.*?)' ", message):
            similar = difflib.get_close_matches(typed[1], [*COMMANDS, *MEANT], 1)
            message = f"COMMAND: unknown {typed[1]!r}" + (
                f", a file: write {self.prog} evaluate {typed[1]}" if Path(typed[1]).is_file() else
                f", did you mean {MEANT.get(similar[0], similar[0])}?" if similar else "")
        if message.endswith("required: --evaluator"):
            message += ", such as --evaluator my_eval.py:evaluate"
        print_stderr(f"error: {message:.200}; see {self.prog} --help", self.prog)
        self.exit(2)


class _WholeWords(argparse.HelpFormatter):
    """Wrap lines at spaces alone, so that a name with hyphens can be read and copied; the usage
    has no option that may be left out.
    """

    def add_usage(self, usage: Any, actions: Iterable[argparse.Action], groups: Any,
                  prefix: Any = None) -> None:
        required = [action for action in actions if action.required or not action.option_strings]
        options = argparse.Action([], "options", nargs=argparse.OPTIONAL)
        super().add_usage(usage, [*required, options], [], prefix)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join((" \\\n" if indent else "\n").join(
            wrap(line, indent, 2 * indent, width)) for line in text.split("\n"))  # or an example


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        show_plain(argparse.ArgumentParser.format_help(parser).rstrip("\n"))
        parser.exit()
