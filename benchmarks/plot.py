"""The growth of time and memory with the gallery, as a picture; needs matplotlib."""
from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def growth_plot(measured: dict[str, Any], path: Path) -> bool:
    """Write a PNG; False, and no file, without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    gallery = [one["gallery"] / 1000 for one in measured["sizes"]]
    panels = {"seconds": ([one["seconds"] for one in measured["sizes"]], "seconds"),
              "memory": ([one["bytes_beyond_input"] / 2**20 for one in measured["sizes"]],
                         "MiB beyond the mapped features")}
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    for axis, (values, label) in zip(axes, panels.values()):
        axis.plot(gallery, values, "o-", label="measured")
        axis.set(xlabel="gallery, thousand images", ylabel=label, xlim=(0, None))
        axis.grid(alpha=0.3)
    linear = [panels["seconds"][0][0] * count / gallery[0] for count in gallery]
    axes[0].plot(gallery, linear, "--", color="grey", label="linear from the smallest")
    axes[1].axhline(1024, ls="--", color="grey", label="1 GiB")
    for axis in axes:
        axis.set_ylim(0, None)
        axis.legend()
    figure.suptitle(f"{measured['queries']:,} queries, {measured['dims']}-d float32, "
                    "memory-mapped")
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return True
