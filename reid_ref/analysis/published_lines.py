"""The figures that a driver's authors print, for the lines of that driver."""
from __future__ import annotations

from collections.abc import Iterable

from reid_ref.analysis.published import Published, load
from reid_ref.datasets import Recognised
from reid_ref.drivers.records import Driver


def published_lines(driver: Driver, files: Iterable[str],
                    found: Recognised | None) -> dict[str, Published]:
    """Return the figure that the driver's authors print for each method, of these images.

    The names of the files say which features these are.

    Examples
    --------
    >>> from reid_ref.datasets import FINGERPRINTS
    >>> from reid_ref.drivers.records import DRIVERS
    >>> market = Recognised(FINGERPRINTS["market1501"], off=())
    >>> lines = published_lines(DRIVERS["market1501"], ["ResNet_50_IDE_test.mat"], market)
    >>> lines["Euclidean"].rank1, lines["Euclidean"].mAP
    ('78.92', '55.03')
    """
    if found is None or found.off:
        return {}
    names = " ".join(files).lower()
    model = ("IDE_CaffeNet" if "caffenet" in names else "LOMO" if "lomo" in names else
             "IDE_ResNet_50")
    name, _, split = found.fingerprint.name.partition(" ")
    rows = [row for row in load() if row.source_repo == driver.repository
            and row.dataset == name and row.split.startswith(split.strip("()"))]
    return {method: row for method in driver.methods for row in rows
            if row.method == f"{model} + {method}"}
