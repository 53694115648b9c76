"""What an evaluator is handed: distances, the labels of both sides, and features."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays.value import Value
from reid_ref.labels import Labels

#: The length of CMC that ReID code is asked for.
MAX_RANK = 50


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
