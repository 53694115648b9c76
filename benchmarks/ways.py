"""The process of its own in which `search.py` lets the reid_ref of one checkout search.

It gets JSON: the checkout, the file, and by name the variations and conventions to try, which may
be left out: then it answers with the names that it has. Else it answers with processor seconds,
those until re-ranking began, which the newer of two checkouts leaves for last, and with each way's
numbers.
"""
from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

task = json.loads(sys.argv[1])
sys.path.insert(0, task["checkout"])

reid_ref = importlib.import_module("reid_ref")
variations = importlib.import_module("reid_ref.variations").every_variation()
conventions = importlib.import_module("reid_ref.conventions").CONVENTIONS
#: Where `run_search` is, the newest place first.
PLACES = "reid_ref.analysis.validate.search", "reid_ref.commands.validate.compute.search"


def module() -> Any:
    # Not by trying to import: an installed reid_ref may have what this checkout has not.
    places = [name for name in PLACES
              if Path(task["checkout"], f"{name.replace('.', '/')}.py").exists()]
    return importlib.import_module(places[0])


def answer() -> dict[str, object]:
    if "variations" not in task:
        return {"seconds": 0, "variations": list(variations), "conventions": list(conventions)}
    search, chosen = module(), {name: variations[name] for name in task["variations"]}
    search.every_variation = lambda: chosen
    data, trials = reid_ref.read(task["file"]), search.Trials(("Rank-1", "mAP"))
    start, others = time.process_time(), []

    def note(passes: int) -> None:
        if not others and all(each.kind == "re-ranking"
                              for chain in trials.waiting for each in chain):
            others.append(time.process_time() - start)
    search.run_search(data, [conventions[name] for name in task["conventions"]], trials,
                      progress=note)
    return {"seconds": time.process_time() - start, "without re-ranking": others[0],
            "ways": {" ".join((*each.way.variations, each.way.features, each.way.convention)):
                     repr(list(each.numbers.values())) for each in trials.tried}}


warnings.simplefilter("ignore")
print("ready", flush=True)
for _ in sys.stdin:
    print(json.dumps(answer()), flush=True)
