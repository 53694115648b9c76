"""`Variation`: one change that moved somebody's number, as a frozen record."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from reid_ref.arrays import check_name
from reid_ref.conventions import Convention
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Result

#: Choices of a convention that a variation changes, by their fields; None: it does not apply.
Choices: TypeAlias = Callable[[Convention], Mapping[str, Any] | None]


@dataclass(frozen=True, eq=False)
class Variation:
    """One change, besides the choice of an evaluator.

    Parameters
    ----------
    name : str
        One line without ``|``, for it is in signatures.
    words : str
        What was done; it ends "torchreid prints 94.2/84.1 of these features".
    source : str
        Where it was seen: threads, or code with file and line.
    threads : int
        How many threads that are known report it. The most frequent are tried first.
    kind : str
        What it changes: two variations of one kind are never combined.
    lacks : callable
        A `ResultFile` to the reason why it cannot be tried, empty if it can.
    data : callable, optional
        A `ResultFile` to the changed one.
    choices : callable, optional
        A `Convention` to the choices that change, or to None if it does not apply.
    rank : callable, optional
        A `ResultFile` and a `How` to the results of its conventions, in the place of the
        evaluation by distances.
    result : callable, optional
        A `Result` to the changed one.
    rankings : tuple of str
        Which rankings of features are tried (`Features.rankings`); empty: all.
    conventions : callable
        Whether it is tried under a convention.
    options : str
        What the command line adds to reproduce it, besides ``--set`` with the choices.
    pairs : bool
        It is combined with any other, if pairs are tried.
    neighbours : int
        Of re-ranking: how many of each image it needs. Those that need more come later.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> from dataclasses import replace
    >>> from reid_ref.variations import Variation
    >>> binary = Variation("signs", "after each feature was replaced by its sign", "our code",
    ...                    data=lambda data: replace(
    ...                        data, query_features=np.sign(data.query_features),
    ...                        gallery_features=np.sign(data.gallery_features)))
    >>> binary.lacks(None)
    ''
    """

    name: str
    words: str
    source: str
    threads: int = 0
    kind: str = "features"
    lacks: Callable[[ResultFile], str] = lambda data: ""
    data: Callable[[ResultFile], ResultFile] | None = None
    choices: Choices | None = None
    rank: Callable[[ResultFile, How], list[Result]] | None = None
    result: Callable[[Result], Result] | None = None
    rankings: tuple[str, ...] = ()
    conventions: Callable[[Convention], bool] = field(default=lambda convention: True)
    options: str = ""
    pairs: bool = False
    neighbours: int = 0

    def __post_init__(self) -> None:
        check_name(self.name)
