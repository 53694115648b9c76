"""
A page to send
==============

One HTML file for a co-author or a reviewer: numbers with intervals, rank lists, figures, tables.
It needs no other file and no network.
"""
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import reid_ref
from reid_ref.cli import main  # what the command reid-ref calls

rng = np.random.default_rng(3)
identity, camera = 1 + np.arange(400) % 25, np.arange(400) // 25 % 4
for system, noise in (("baseline", .4), ("ours", .36)):
    features = np.eye(26)[identity] + noise * rng.standard_normal((400, 26))
    np.savez(f"{system}.npz", features=features, pids=identity, camids=camera, num_query=100)

# %%
# In a terminal: ``reid-ref report baseline.npz ours.npz -o page.html``.
# With ``--images FOLDER`` the rank lists have pictures.
assert main(["report", "baseline.npz", "ours.npz", "-o", "page.html", "--quiet"]) == 0
print(f"{Path('page.html').stat().st_size / 1e6:.1f} MB")

# %%
# One of its figures, drawn alone: mAP of each pair of cameras.
data = reid_ref.read("ours.npz")
pairs = reid_ref.camera_pairs_features(data.query_features, data.gallery_features, data.query,
                                       data.gallery)
figure, axes = plt.subplots(layout="constrained")
reid_ref.figures.cameras(pairs, axes)
