"""The MATLAB scripts of person re-identification, line by line.

Aim: results bit-identical to the scripts, by the same operations in the same order. One
file a script, with the script's name and its variable names; each block names the lines of
``matlab_ref/NAME.m`` that it follows. It is not optimised, and it shares no code with the
rest of the package, so that a fault in either shows as a difference.

Conventions: a smaller distance is nearer. ``dist`` is gallery x query: one column a
query. Features are one row an image, in `re_ranking` one column. Label -1 is junk, 0 a
distractor. Index lists count from 0, as in numpy, where the scripts count from 1; this is
the only conversion.

Contents
--------
compute_AP
    Average precision and match curve of one query.
evaluation
    CMC and mAP (Market-1501).
evaluation_mars
    CMC, mAP and the scores of each camera (MARS).
compute_AP_multiCam, compute_r1_multiCam
    One query on each of six cameras.
draw_confusion_matrix
    Mean scores of each pair of cameras.
my_pdist2, MahDist
    Euclidean and Mahalanobis distances, as the drivers compute them.
re_ranking
    Distances after k-reciprocal encoding.

Source: zhunzhong07/person-re-ranking, commit 278f2c7, ``evaluation``, and
liangzheng06/MARS-evaluation, ``utils``.
"""
from reid_ref.matlab.MahDist import MahDist
from reid_ref.matlab.compute_AP import compute_AP
from reid_ref.matlab.compute_AP_multiCam import compute_AP_multiCam
from reid_ref.matlab.compute_r1_multiCam import compute_r1_multiCam
from reid_ref.matlab.draw_confusion_matrix import draw_confusion_matrix
from reid_ref.matlab.evaluation import evaluation
from reid_ref.matlab.evaluation_mars import evaluation_mars
from reid_ref.matlab.my_pdist2 import my_pdist2
from reid_ref.matlab.re_ranking import re_ranking

__all__ = [
    "MahDist",
    "compute_AP",
    "compute_AP_multiCam",
    "compute_r1_multiCam",
    "draw_confusion_matrix",
    "evaluation",
    "evaluation_mars",
    "my_pdist2",
    "re_ranking",
]
