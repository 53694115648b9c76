"""Does this installation give the recorded answers? ``python -m reid_ref.testing`` compares.

Made problems (`problems`) are evaluated in groups (`answers`): every convention with six dtypes,
thresholds, statistics, protocols, re-ranking. A digest of the answers is compared with the
recorded one, in `answers.json`, which was made on x86-64; arm64 gives the same.
"""
import hashlib
import importlib.util
import json
import platform
import time
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import ignored, warnings_to
from reid_ref.installed.answers import GROUPS, NEED_SCIPY
from reid_ref.installed.problems import made_problem

#: The digests: by group and item.
RECORDED = Path(__file__).with_name("answers.json")
#: The problem that is recorded.
SEED = 1


def digest(value: Any) -> str:
    """Return sixteen hexadecimal digits of numbers in sequences, mappings and dataclasses.

    Any change of a double changes it; NaN is NaN, whatever its bits.

    Examples
    --------
    >>> digest([.5, np.nan]) == digest(np.array([.5, -np.nan])), digest([.5]) == digest([.6])
    (True, False)
    """
    text = json.dumps(value, default=_plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return vars(value) if is_dataclass(value) else value.tolist()


def digests(seed: int = SEED,
            groups: Iterable[str] = GROUPS) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield group and digests by item, group after group."""
    given = made_problem(seed)
    for group in groups:
        with warnings_to(ignored):  # junk, ties and NaN are there on purpose
            answers = GROUPS[group](given)
        yield group, {name: digest(answer) for name, answer in answers.items()}


def check() -> Iterator[tuple[str, str, bool]]:
    """Yield group, what is found in words, and whether it is as recorded or skipped."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    for group, items in recorded.items():
        if group in NEED_SCIPY and importlib.util.find_spec("scipy") is None:
            yield group, "skipped: scipy is not installed", True
            continue
        try:
            (_, found), = digests(groups=[group])
        except Exception as error:  # whatever is broken here: the other groups go on
            yield group, f"ERROR: {type(error).__name__}: {error}", False
            continue
        differing = [name for name in items if found.get(name) != items[name]]
        yield group, (f"DIFFERS: {', '.join(differing)}" if differing else
                      f"{len(items)} answers, as recorded"), not differing


def check_installation() -> int:
    """Print a line for each group; return 1 if one differs, else 0."""
    start, failed = time.perf_counter(), []
    print(f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
          f"numpy {np.__version__}")
    for group, words, passed in check():
        print(f"{group:20}  {words}", flush=True)
        failed += [] if passed else [group]
    print(f"{time.perf_counter() - start:.1f} s: " + (
        f"not as recorded: {', '.join(failed)}" if failed else
        "the numbers recorded on x86-64 and arm64"))
    return int(bool(failed))
