"""The protocols of person search: detections in whole images, not images of people."""
from __future__ import annotations

from dataclasses import replace
from functools import partial

from reid_ref.conventions import CONVENTIONS
from reid_ref.protocols import box_ranks
from reid_ref.protocols.box_ranks import BoxRule, by_first_overlap, by_labels
from reid_ref.protocols.boxes import SIZES
from reid_ref.protocols.record import Part, Protocol

_SEQNET = "serend1p1ty/SeqNet edec285, eval_func.py"
_FILE = "Boxes, detections and queries: docs/person-search.md has the arrays"
_RIGHT = "the most similar detection that overlaps the annotated box enough is right"
_FIRST_OVERLAP = CONVENTIONS["matlab"].replace(
    name="cuhk-sysu", source=_SEQNET, also=(), ignored=(), ap="sklearn-0.19", ties="reversed",
    unmatched="drop", metric="dot", normalize=False, measure="eval_func.py:170")

_PRW = Protocol(
    "prw", "prw", f"{_SEQNET}:301-485", _FIRST_OVERLAP.replace(name="prw"), f"{_FILE}.",
    boxes=BoxRule(
        partial(by_first_overlap, box_ranks.other_images),
        {"all": f"all test frames but the query's own are searched; {_RIGHT}"}, 0.5),
    note="2,057 queries, 6,112 frames. ignore_cam_id=True, the code's default, which most papers "
    "print: frames of the query's own camera count, which is easier. Other cameras only: "
    "prw-multi-view.")

PERSON_SEARCH = (
    Protocol(
        "cuhk-sysu", "cuhk-sysu", f"{_SEQNET}:89-298", _FIRST_OVERLAP,
        f"{_FILE}, among them the galleries of TestG100.mat and its like.",
        tuple(Part(size) for size in (*SIZES, "whole")),
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.listed_images),
            {**{size: f"the {int(size):,} images that the file lists for each query are searched; "
                f"{_RIGHT}" for size in SIZES},
             "whole": f"all images but the query's own are searched; {_RIGHT}"}, 0.5),
        note="2,900 queries, 6,978 images. Papers print part 100. The galleries that the file has "
        "are evaluated, and the whole where it has none. whole follows ShuangLI59/person_search "
        "1f58d7f, for SeqNet's gallery_size=-1 fails."),
    _PRW,
    replace(
        _PRW, name="prw-multi-view", convention=_FIRST_OVERLAP.replace(
            name="prw-multi-view", ignored=("same camera",)),
        boxes=BoxRule(
            partial(by_first_overlap, box_ranks.images_of_other_cameras),
            {"all": f"the test frames of other cameras are searched; {_RIGHT}"}, 0.5),
        note="ignore_cam_id=False, COAT's multi-view gallery. A query whose person is on no other "
        "camera is left out; the code divides by zero there."),
    Protocol(
        "prw-matlab", "prw", "liangzheng06/PRW-baseline 7dac8c6, baseline_dpm_bow_new.m:42-90, "
        "utils/calculate_ID_cam_test.m, utils/compute_AP.m",
        CONVENTIONS["matlab"].replace(
            name="prw-matlab", top_k=1000, cmc_length=1000, unmatched="nan", normalize=False),
        f"{_FILE}; identity -2 is ambiguous.",
        boxes=BoxRule(by_labels, {
            "all": "frames of other cameras are searched; a detection from an overlap of 0.5 on "
            "has the identity of the box that it overlaps most, and is junk from 0.3 on or where "
            "another one overlaps that person more"}),
        note="The authors' rule: trapezoid, the first 1,000 detections. All detections count; "
        "--min-score or --boxes-per-image keep the best, as the 30 steps of the code's curves "
        "do."))
