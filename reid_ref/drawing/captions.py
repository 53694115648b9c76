"""What figures show, in a sentence or two that a paper can use below them."""
from __future__ import annotations

from collections.abc import Mapping

from reid_ref.drawing.style import conventions_of
from reid_ref.result import Result

#: By the name of the figure, with ", several" where several methods need other words.
CAPTIONS = {
    "cmc": "Cumulative matching characteristic: the share of queries with a match among the first "
           "k images of the ranked list. Bands are 95 % confidence intervals.",
    "pr": "Precision at each level of recall, averaged over the queries.",
    "ap": "Distribution of average precision (AP) over queries and, as means, over identities.",
    "ap, several": "Cumulative distribution of average precision (AP): the share of queries whose "
                   "AP is at most the value on the axis.",
    "good": "Mean average precision (AP) of queries by their number of good images in the "
            "gallery.",
    "cameras": "mAP in percent for each pair of query and gallery camera, over the number of "
               "queries in small print. Hatched pairs have no score.",
    "change": "Change of mAP in points for each pair of query and gallery camera, over the number "
              "of queries in small print.",
    "distances": "Densities of the distances between queries and gallery images of the same and "
                 "of other identities, on the same and on other cameras.",
    "conventions": "Mean average precision (mAP) and Rank-1 of one result under the conventions "
                   "of different evaluators.",
    "rank-lists": "Queries and their nearest gallery images. Solid green frame: same identity; "
                  "dashed red: other identity; dotted amber: distractor; grey: ignored. After a "
                  "gap, the next good image.",
}


def caption(figure: str, several: bool = False) -> str:
    """Return the caption of a figure, of one method or of several.

    Examples
    --------
    >>> caption("pr", several=True)
    'Precision at each level of recall, averaged over the queries.'
    """
    of_several = f"{figure}, several"
    return CAPTIONS[of_several if several and of_several in CAPTIONS else figure]


def with_counts(words: str, results: Mapping[str, Result]) -> str:
    """Return a caption with the convention and the numbers of images of some results."""
    counts = next(iter(results.values())).counts
    return (f"{words} {counts.query:,} queries, {counts.gallery:,} gallery images; convention "
            f"{conventions_of(results)}.")
