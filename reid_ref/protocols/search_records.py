"""The protocols of person search: detections in whole images, not images of people."""
from __future__ import annotations

from functools import partial

from reid_ref.conventions import CONVENTIONS
from reid_ref.protocols import box_ranks
from reid_ref.protocols.box_ranks import BoxRule, by_first_overlap, by_labels
from reid_ref.protocols.boxes import SIZES
from reid_ref.protocols.record import Part, record_of_row

_RIGHT = "the most similar detection that overlaps the annotated box enough is right"
_FIRST_OVERLAP = CONVENTIONS["matlab"].replace(
    source="serend1p1ty/SeqNet edec285, eval_func.py", also=(), ignored=(), ap="sklearn-0.19",
    ties="reversed", unmatched="drop", metric="dot", normalize=False, measure="eval_func.py:170")

PERSON_SEARCH = (
    record_of_row(
        "cuhk-sysu", _FIRST_OVERLAP, *(Part(size) for size in (*SIZES, "whole")),
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.listed_images),
            {**{size: f"the {int(size):,} images that the file lists for each query answer; "
                f"{_RIGHT}" for size in SIZES},
             "whole": f"all images but the query's own answer; {_RIGHT}"}, 0.5)),
    record_of_row(
        "prw", _FIRST_OVERLAP,
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.other_images),
            {"all": f"all test frames but the query's own answer; {_RIGHT}"}, 0.5)),
    record_of_row(
        "prw-multi-view", _FIRST_OVERLAP.replace(ignored=("same camera",)),
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.images_of_other_cameras),
            {"all": f"the test frames of other cameras answer; {_RIGHT}"}, 0.5)),
    record_of_row(
        "prw-matlab", CONVENTIONS["matlab"].replace(
            top_k=1000, cmc_length=1000, unmatched="nan", normalize=False),
        boxes=BoxRule(by_labels, {
            "all": "frames of other cameras answer; a detection from an overlap of 0.5 on has the "
            "identity of the box that it overlaps most, and is junk from 0.3 on or where another "
            "one overlaps that person more"})))
