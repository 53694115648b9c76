"""One piece of work in a process of its own; `stopwatch.own_process` starts it and listens.

The argument is a JSON object: `work` ("distances", "features", "thresholds" or "thresholds of
distances"), `labels` (a .npz), `inputs` (.npy files), `mapped` (leave them on the disk), `queries`
and `gallery` (how many are used; all without it).
"""
from __future__ import annotations

import json
import sys
import warnings

import numpy as np

import reid_ref
from stopwatch import seconds


def main() -> None:
    warnings.simplefilter("ignore")  # the hollow parts of the input are on purpose
    task = json.loads(sys.argv[1])
    arrays = [np.load(path, mmap_mode="r" if task["mapped"] else None)
              for path in task["inputs"]]
    with np.load(task["labels"]) as stored:
        query, gallery = (
            reid_ref.Labels(*(stored[f"{side}_{name}"][:count] for name in ("identity", "camera")))
            for side, count in (("query", task.get("queries")), ("gallery", task.get("gallery"))))
    if len(arrays) == 2:
        arrays = [arrays[0][:len(query)], arrays[1][:len(gallery)]]
    function = {"distances": reid_ref.evaluate_distances, "features": reid_ref.evaluate,
                "thresholds": reid_ref.evaluate_thresholds,
                "thresholds of distances": reid_ref.evaluate_thresholds_distances}
    print("ready", flush=True)
    for _ in sys.stdin:
        results = []
        spent = seconds(lambda: results.append(function[task["work"]](*arrays, query, gallery)))
        print(json.dumps({"seconds": spent, "mAP": getattr(results[0], "mAP", None)}), flush=True)


if __name__ == "__main__":
    main()
