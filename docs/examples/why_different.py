"""
Why is my mAP different?
========================

One ranking has many numbers. ``explain`` walks from one toolbox's number to another's, one choice
at a time; the effects add up exactly.
"""
import matplotlib.pyplot as plt
import numpy as np

import reid_ref

rng = np.random.default_rng(2)
identity = np.concatenate([np.arange(1, 21), np.repeat(np.arange(1, 21), 12), np.full(40, -1)])
camera = np.concatenate([np.zeros(20, int), np.arange(280) % 6])
features = np.eye(22)[identity] + .3 * rng.standard_normal((300, 22))
features *= rng.uniform(.8, 1.2, (300, 1))  # norms differ, as before a model's last layer
np.savez("result.npz", features=features, pids=identity, camids=camera, num_query=20)

# %%
# Identity -1 is junk to the scripts of Market-1501; torchreid does not load it.
data = reid_ref.read("result.npz")
explained = reid_ref.explain(data, "matlab", "torchreid")
print(f"matlab: {explained.start.mAP:.4%}")
for step in explained.steps:
    print(f"{step.choice} {step.value}: {step.result.mAP:.4%}, {step.affected} queries affected")

# %%
# In a terminal: ``reid-ref explain result.npz --from matlab --to torchreid``.
# The same ranking under six conventions:
figure, axes = plt.subplots(layout="constrained")
names = ("matlab", "torchreid", "open-reid", "triplet-reid", "light-reid", "simpleir")
reid_ref.figures.conventions({name: reid_ref.evaluate(
    data.query_features, data.gallery_features, data.query, data.gallery, convention=name,
    metric="euclidean", normalize=True) for name in names}, axes)
