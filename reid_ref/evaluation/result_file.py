"""`ResultFile`: labels and input, as one value that every command takes."""
from dataclasses import dataclass
from typing import Any

from reid_ref.arrays import InputError, Value
from reid_ref.conventions import find_conventions
from reid_ref.evaluation.engine import as_requested, results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances, Features, Lists
from reid_ref.labels import Candidates, Labels, numbered
from reid_ref.ranking.ranked_lists import RankedLists

Matrix = Any     # an ndarray, a memmap or an h5py.Dataset
Input = Features | Distances | Lists


@dataclass(frozen=True, eq=False)
class ResultFile(Value):
    """What a result file holds: both feature arrays, or the distances, or ranked lists.

    Parameters
    ----------
    layout : str
        The layout that was recognised, in words.
    query, gallery : Labels
        Identity and camera of each image.
    query_features : array, shape (n_query, d), or None
    gallery_features : array, shape (n_gallery, d), or None
        Real numbers of the dtype stored.
    distances : array, shape (n_query, n_gallery), or None
        Smaller is nearer; may be complex, as MATLAB's can be.
    ranked : RankedLists, or None
        Ranked lists in the place of features or distances.
    candidates : Candidates, optional
        The images that may be found for each query, where these differ.
    extra : tuple of str
        The file's other keys, which are not read.
    multi_query : (Labels, array), or None
        Images of the queries' identities on their cameras, which `pool_queries` takes.

    Notes
    -----
    A matrix from a .npy file is a `numpy.memmap`, one from HDF5 (and from MAT v7.3, where the file
    keeps rows together) an `h5py.Dataset`: its numbers are still in the file, so do not change the
    file while it is in use. A copy leaves them there, too; a pickle holds them. Only its shape and
    dtype have been checked: it may hold NaN or Inf. Any other matrix is an ndarray, and its
    features are finite.
    """

    layout: str
    query: Labels
    gallery: Labels
    query_features: Matrix | None = None
    gallery_features: Matrix | None = None
    distances: Matrix | None = None
    extra: tuple[str, ...] = ()
    ranked: RankedLists | None = None
    candidates: Candidates | None = None
    multi_query: tuple[Labels, Matrix] | None = None

    def __post_init__(self) -> None:
        query, gallery = numbered(self.query, self.gallery)
        whole = [column for column, values in self.query.columns().items() if column != "name"
                 and values.dtype.kind == "U" and column not in query.words]
        layout = "; ".join((self.layout, *(
            f"{column}: whole numbers as text, read as numbers" for column in whole)))
        for name, value in (("query", query), ("gallery", gallery), ("layout", layout)):
            object.__setattr__(self, name, value)

    @property
    def input(self) -> Input:
        """What is ranked."""
        if self.ranked is not None:
            return Lists(self.ranked, self.candidates)
        if self.distances is not None:
            return Distances(self.distances, candidates=self.candidates)
        return Features(self.query_features, self.gallery_features, self.candidates)

    def evaluate(self, convention: Any = "matlab", **options: Any) -> Any:
        """Evaluate it: a Result, or a dict of these for several conventions.

        Parameters
        ----------
        convention : str or Convention, or several of them
        **options
            metric, normalize, lists, max_memory and progress, as `reid_ref.evaluate` has them.

        Returns
        -------
        Result, or dict of str to Result

        Raises
        ------
        InputError
            No convention of that name, or labels that it lacks, such as cameras.

        Examples
        --------
        >>> data = ResultFile("arrays", Labels(["Eve"]), Labels(["Dan", "Eve"]),
        ...                   distances=[[.1, .2]])
        >>> data.evaluate("simpleir")
        Result(mAP=0.5000, rank1=0.0000, mINP=0.5000, queries=1/1, convention='simpleir')
        """
        how = How(tuple(find_conventions(convention)), **options)
        return as_requested(results_of(self.input, self.query, self.gallery, how), convention)

    def features(self, argument: str, expected: str = "features",
                 remedy: str = "") -> tuple[Any, Any]:
        """Return the features of both sides; the rest is for the message if there are none."""
        given = self.input
        return given.features(
            InputError(argument, expected, f"{given.noun} ({self.layout})", remedy))


def check_result_file(data: object) -> None:
    """Refuse what `read` did not return, such as the name of a file, and what has no values."""
    if not isinstance(data, ResultFile):
        raise InputError("data", "what reid_ref.read returns", type(data).__name__,
                         "pass reid_ref.read(FILE), or arrays as a ResultFile")
    if data.distances is None and (data.query_features is None or data.gallery_features is None):
        if data.ranked is not None:
            Lists(data.ranked).exact_rows()
        raise InputError("data", "distances, or features of both sides", "neither",
                         "pass distances=... or both features")
