"""Data sets: file names, label files, tracklets, counts.

Aim: query and gallery of a benchmark as `reid_ref.Labels`, from the files that the benchmark
ships, and what differs where their counts are not the benchmark's.

Conventions: identity -1 is junk and 0 a distractor, as in Market-1501 and MARS (but in MSMT17
identity 0 is a person). Indices and frames that the files count from 1 are counted from 0 here.
A name or file that does not fit is one `InputError`.
"""
from reid_ref.datasets.fingerprints import (
    FINGERPRINTS, Fingerprint, Recognised, good_and_wrong, recognise)
from reid_ref.datasets.folders import read_folder
from reid_ref.datasets.labels import (
    Partition, Tracks, read_cuhk03, read_indices, read_labels, read_list, read_side, read_sides,
    read_tracks)
from reid_ref.datasets.pooling import pool_frames, pool_tracklets
from reid_ref.files.image_names import FORMS, NameForm, parse_names

__all__ = ["FINGERPRINTS", "FORMS", "Fingerprint", "NameForm", "Partition", "Recognised", "Tracks",
           "good_and_wrong", "parse_names", "pool_frames", "pool_tracklets", "read_cuhk03",
           "read_folder", "read_indices", "read_labels", "read_list", "read_side", "read_sides",
           "read_tracks", "recognise"]
