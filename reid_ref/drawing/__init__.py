"""Figures for papers: CMC, precision and recall, AP, cameras, distances, conventions.

Each function draws what was computed into matplotlib Axes and returns them; `save` writes their
figure to a file. Colours differ for the colour-blind, too, and lines also by their dashes.
"""
from reid_ref.drawing.camera_matrix import cameras
from reid_ref.drawing.results import (
    ap_by_good, average_precision, cmc, conventions, distances, precision_recall)
from reid_ref.drawing.style import save, svg

__all__ = ["ap_by_good", "average_precision", "cameras", "cmc", "conventions", "distances",
           "precision_recall", "save", "svg"]
