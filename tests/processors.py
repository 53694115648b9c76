"""What this processor computes: a line per random problem and per command, with a digest.

Usage: python tests/processors.py PROBLEMS     (needs scipy; with jinja2 also a page)

`.ci/arm64` runs it on two processors, with two versions of numpy, and compares the lines.
"""
import contextlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

from reid_ref.arrays import InputError
from reid_ref.cli import main
from reid_ref.installed import digest
from reid_ref.installed.answers import GROUPS
from reid_ref.installed.problems import DTYPES, made_problem

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
#: Of every problem; of every fiftieth one, since they take longest.
OFTEN, SELDOM = ("distances", "features"), [
    name for name in GROUPS if name.split()[0] not in ("distances", "features")]
FILE = str(FIXTURES / "market_like.mat")
COMMANDS = [
    [*words.split(), "--json"] for words in (
        f"evaluate {FILE} --convention all", f"evaluate {FILE} --confidence",
        f"evaluate {FILE} --by camera-pair", f"evaluate {FILE} --protocol market1501",
        f"evaluate {FIXTURES / 'mars_like.mat'} --convention mars",
        f"evaluate {FIXTURES / 'ties.mat'} --convention all",
        f"evaluate {FIXTURES / 'special_values.mat'}", f"compare {FILE} {FILE} --name A,B",
        f"thresholds {FILE}", f"explain {FILE}", f"doctor {FILE}", f"ties {FILE}",
        f"validate {FILE} --published 45.83/40.16", f"rerank {FILE}")]
PAGE = ["report", FILE, "-o", "page.html"]
#: What a page may show differently: its figures, and last digits of the distances in its lists.
FIGURE = re.compile(r"<svg.*?</svg>|data:image/[^\"]*|(?<=\"distance\": )[\d.e-]+", re.DOTALL)


def problems(number):
    """Yield the name and the digest of each group of some problems."""
    for seed in range(2, 2 + number):
        dtype = DTYPES[seed % len(DTYPES)]
        for name in [f"{kind} {dtype}" for kind in OFTEN] + SELDOM * (seed % 50 == 0):
            try:
                answers = GROUPS[name](made_problem(seed, 7 + seed % 9, 30 + seed % 31))
            except InputError as error:  # a part without images
                answers = str(error)
            yield f"problem {seed}, {name}", digest(answers)


def commands():
    """Yield each command and the digest of its exit code and of what it prints."""
    for words in COMMANDS:
        yield "command " + " ".join(words).replace(f"{FIXTURES}/", ""), digest(run(words))
    if importlib.util.find_spec("jinja2"):
        run(PAGE)
        yield "page", digest(FIGURE.sub("", Path("page.html").read_text(encoding="utf-8")))


def run(words):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main(words)
    return code, out.getvalue()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    for line in commands():
        print(*line, flush=True)
    for line in problems(int(sys.argv[1])):
        print(*line, flush=True)
