"""The pages of the commands, one for each, from its parser; and their list.

The example is the first screen of the command in docs/ or README.md, which the tests run; the
page on which it stands is the guide.
"""
import argparse
import re
from pathlib import Path

from generated import table, write_pages
from man import commands

from reid_ref.cli.parser import GROUPS, make_parser

HERE = Path(__file__).parent
#: Commands whose example is in README.md, and their guides.
IN_README = {"evaluate": "start"}


def write(folder):
    """Write docs/commands/."""
    write_pages(folder / "commands", {
        "index.md": index(),
        **{f"{name}.md": page(name, parser) for name, parser in commands(make_parser()).items()}})


def page(name, parser):
    """Return the page of a command: usage, example, options by group."""
    groups = [group for group in parser._action_groups if group._group_actions]
    return "\n".join([
        f"# reid-ref {name}\n", f"{prose(parser.description)}\n",
        "```text", usage(parser), "```\n", *example(name),
        *(line for group in groups for line in options(group)),
        *(["## Remarks\n", prose(parser.epilog), ""] if parser.epilog else [])])


def usage(parser):
    """Return the usage with every option, at 80 columns."""
    formatter = argparse.HelpFormatter(parser.prog, width=78)
    formatter.add_usage(None, parser._actions, parser._mutually_exclusive_groups)
    return formatter.format_help().rstrip("\n")


def example(name):
    """Return the command's first screen in the guides, and the link to its page."""
    pages = [HERE.parent / "README.md"] if name in IN_README else sorted(HERE.glob("*.md"))
    for path in pages:
        screen = re.search(rf"^\$ reid-ref {name} .*(?:\n(?!\$ |```).*)+", path.read_text(),
                           re.MULTILINE)
        if screen:
            guide = HERE / f"{IN_README.get(name, path.stem)}.md"
            title = guide.read_text().partition("\n")[0].removeprefix("# ")
            return ["## Example\n", "```console", screen[0], "```\n",
                    f"The guide: [{title}](../{guide.name}).\n"]
    return []


def options(group):
    """Return a group of arguments as a list of definitions."""
    lines = [f"## {group.title[:1].upper()}{group.title[1:]}\n"]
    for action in group._group_actions:
        value = "" if action.nargs == 0 else argparse.HelpFormatter("")._format_args(
            action, action.metavar or "|".join(map(str, action.choices or [action.dest])))
        names = ", ".join(action.option_strings)
        lines += [f"`{' '.join(filter(None, (names, value)))}`", f": {prose(action.help)}\n"]
    return lines


def prose(text):
    """Return the parser's words as Markdown."""
    return re.sub(r"([*_<\[])", r"\\\1", " ".join((text or "").replace("%%", "%").split()))


def index():
    """Return the list of the commands, by group."""
    lines = ["# Commands\n", "`reid-ref COMMAND --help` shows the same in a terminal.\n"]
    for group, named in GROUPS.items():
        lines += [f"## {group.capitalize()}\n", *table(["command", "for"], [
            (f"[{name}]({name}.md)", line) for name, line in named.items()]), ""]
    names = [name for named in GROUPS.values() for name in named]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *names, "```\n"])
