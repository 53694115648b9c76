"""What an evaluator is handed: distances, the labels of both sides, and features."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays.value import Value
from reid_ref.labels import Labels

#: The length of CMC that ReID code is asked for.
MAX_RANK = 50
#: Columns of labels that evaluators look at.
COLUMNS = ("identity", "camera", "clothes", "view", "video", "frame")


@dataclass(frozen=True, eq=False)
class Arrays(Value):
    """Distances (query x gallery) and the labels of both sides.

    Parameters
    ----------
    distances : shape (n_query, n_gallery)
    query, gallery : Labels
    features : tuple of two arrays, optional
        Of the queries and the gallery, of norm 1, whose cosines rank as the distances do.
    """

    distances: npt.NDArray[Any]
    query: Labels
    gallery: Labels
    features: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None

    def take(self, queries: Any = slice(None), images: Any = slice(None)) -> Arrays:
        """Return some of the queries and some of the gallery's images."""
        kept = self.features and (self.features[0][queries], self.features[1][images])
        query, gallery = self.query[queries], self.gallery[images]
        if self.query is self.gallery and np.array_equal(
                *(np.arange(len(self.query))[part] for part in (queries, images))):
            gallery = query  # still one set
        return Arrays(self.distances[queries][:, images], query, gallery, kept)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the labels as ``q_identity``, ``g_camera`` and so on."""
        return {f"{side}_{name}": np.array(values)
                for side, labels in (("q", self.query), ("g", self.gallery))
                for name, values in labels.columns().items() if name in COLUMNS}


def from_columns(distances: npt.NDArray[Any], columns: Mapping[str, Any]) -> Arrays:
    """Return arrays from distances and what `Arrays.columns` gives."""
    query, gallery = (Labels(**{name[2:]: values for name, values in columns.items()
                                if name[0] == side}) for side in "qg")
    return Arrays(distances, query, gallery)
