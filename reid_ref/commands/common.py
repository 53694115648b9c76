"""What several commands do: write files whole, print JSON, show progress."""
from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def check_writable(path: Path) -> None:
    """Refuse, before any work, a file that could not be written afterwards."""
    from reid_ref.validation import InputError

    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path}: expected a file name in a folder that exists; "
                         "nothing was evaluated or written")


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from reid_ref.validation import InputError

    try:
        handle, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def progress_bar(total: int) -> Any:
    """A bar on stderr for work over two seconds; none where stderr is not a terminal."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from tqdm import tqdm

    return tqdm(total=total, unit="query", delay=2, leave=False, file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object; NaN must have become None before."""
    print(json.dumps(value, allow_nan=False))
