"""The words of options: what `--help` says of each, and how it names its values."""
import argparse
import tomllib
from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

#: As options.toml has them; not read by reid_ref.disk, which loads numpy: --help answers at once.
ROWS = tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))
#: By section, the names of an option's values and its help, by its own name.
WORDS = {section: {row.split()[0]: (row.split()[1:], text) for row, text in rows.items()}
         for section, rows in ROWS.items()}


def words_of(name: str, *sections: str, **filled: object) -> dict[str, Any]:
    """Return the help and the metavar of an option, as argparse takes them.

    `sections`: where its words may be, before those that commands share. `filled`: what they have
    in braces.
    """
    values, text = ChainMap(*(WORDS.get(each, {}) for each in sections), WORDS["shared"])[name]
    metavar = {"metavar": tuple(values) if len(values) > 1 else values[0]} if values else {}
    return {"help": text.format(**filled), **metavar}


def add_argument(command: argparse.ArgumentParser, name: str,
                 filled: Mapping[str, object] = MappingProxyType({}), **how: Any) -> None:
    """Let a command take an argument, or an option that no Request has."""
    command.add_argument(name, **words_of(name, command.prog.split()[-1], **filled), **how)
