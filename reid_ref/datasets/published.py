"""Figures that others published: a record of what was printed, and where.

Aim: a printed Rank-1 or mAP can be looked up with the evaluator behind it, and put to the test by
`reid_ref.commands.validate.compute`.

Conventions: figures are percent and kept as text, because the number of printed decimals
matters. Nothing is corrected: a figure that cannot be right keeps its digits, and its
`note` says why. Rank-k over N queries is k/N; where N is known that was checked.

Source: `published.csv`; each row names its repository, file and commit. The Rank-1
and mAP of every row from a document were found again in that file at that commit.
"""
from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from importlib import resources

from reid_ref.arrays import InputError, check_choice
from reid_ref.datasets.printed import Figure, HitCounts, hit_counts

ALL = "reid_ref.published.load() and `reid-ref published` list all"
#: Fields that are a Rank-k.
RANKS = {"rank1": "Rank-1", "rank5": "Rank-5", "rank10": "Rank-10", "rank20": "Rank-20"}


@dataclass(frozen=True)
class Published:
    """One printed result; an empty text is something its source does not print or state.

    Parameters
    ----------
    key : str
        Unique name, ``dataset/method``.
    dataset, split : str
    n_query : str
        Number of queries that the code of the source ranks, where known: those of the dataset's
        protocol but for open-reid.
    method, backbone, protocol, rerank : str
    rank1, rank5, rank10, rank20, mAP, mINP : str
        Percent, with the digits that were printed.
    evaluator : str
        What the code of the source does at that commit.
    label_minus_1 : {"loaded", "not loaded", ""}
        Whether images labelled -1 reached that evaluator; empty where the dataset has none, or
        where it is not known.
    source_paper, source_repo, source_path, source_commit : str
    note : str
        What to know before trusting the digits.
    """

    key: str
    dataset: str
    split: str
    n_query: str
    method: str
    backbone: str
    protocol: str
    rerank: str
    rank1: str
    rank5: str
    rank10: str
    rank20: str
    mAP: str
    mINP: str
    evaluator: str
    label_minus_1: str
    source_paper: str
    source_repo: str
    source_path: str
    source_commit: str
    note: str

    def hit_counts(self) -> dict[str, HitCounts]:
        """Return which hits over its N queries print as each Rank-k; empty where N is unknown."""
        return {name: hit_counts(Decimal(getattr(self, field)), int(self.n_query))
                for field, name in RANKS.items() if getattr(self, field) and self.n_query}

    @property
    def is_suspect(self) -> bool:
        """A printed Rank-k is no k/N over its N queries, rounded: see `note`."""
        return any(hits.rounding != "rounded" for hits in self.hit_counts().values())


@cache
def load() -> tuple[Published, ...]:
    """Return every printed result, those of one source together.

    Examples
    --------
    >>> len(load()) > 500
    True
    """
    text = (resources.files("reid_ref.datasets") / "published.csv").read_text(encoding="utf-8")
    return tuple(Published(**row) for row in csv.DictReader(text.splitlines()))


def by_key(key: str) -> Published:
    """Return the result of that key.

    Raises
    ------
    InputError
        No such key; the nearest ones are listed.

    Examples
    --------
    >>> row = by_key("market1501/bagtricks-resnet50")
    >>> row.rank1, row.mAP, row.source_repo
    ('94.5', '85.9', 'michuanhaohao/reid-strong-baseline')
    """
    known = {row.key: row for row in load()}
    if key not in known:
        folded = str(key).casefold()
        near = (get_close_matches(folded, known, n=3)
                or [name for name in known if folded and folded in name][:3])
        raise InputError(
            "key", got=f"unknown {key!r}",
            remedy=(f"nearest: {', '.join(near)}; " if near else "") + ALL)
    return known[key]


def find(dataset: str = "", method: str = "") -> tuple[Published, ...]:
    """Return the results whose dataset and method contain these texts, in any case.

    Parameters
    ----------
    dataset : str
        Part of the dataset's name; hyphens and spaces do not matter.
    method : str
        Part of the method, backbone or key.

    Raises
    ------
    InputError
        No dataset has that in its name (the known ones are listed), or nothing fits both.

    Examples
    --------
    >>> [row.key for row in find("market", "osnet_x0_5")][:1]
    ['market1501/osnet-x0-5']
    """
    rows = [row for row in load() if _plain(dataset) in _plain(row.dataset)]
    if not rows:
        check_choice(dataset, "dataset", dict.fromkeys(row.dataset for row in load()))
    wanted = method.casefold()
    rows = [row for row in rows
            if any(wanted in text.casefold() for text in (row.method, row.backbone, row.key))]
    if not rows:
        raise InputError("method", got="no published figure "
                         f"{f'on {dataset} ' if dataset else ''}has {method!r} in its method, "
                         "backbone or key", remedy=ALL)
    return tuple(rows)


def _plain(text: str) -> str:
    return text.casefold().replace("-", "").replace(" ", "")


def paper_figure(row: Published) -> Figure:
    """Return the figure of a row of the built-in table.

    Examples
    --------
    >>> str(paper_figure(by_key("market1501/bagtricks-resnet50")))
    'Rank-1 94.5, mAP 85.9'
    """
    return Figure(*(Decimal(text) if text else None for text in (row.rank1, row.mAP)))
