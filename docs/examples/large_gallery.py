"""
A large gallery in little memory
================================

Features may lie on the disk. Nothing of the size queries x gallery is held, and the numbers do not
depend on the memory.
"""
import matplotlib.pyplot as plt
import numpy as np

import reid_ref

rng = np.random.default_rng(4)
query = reid_ref.Labels(1 + np.arange(100), np.zeros(100, int))
gallery = reid_ref.Labels(1 + np.arange(30000) % 1000, 1 + np.arange(30000) % 7)
centres = rng.standard_normal((1001, 64))
query_features = centres[query.identity] + rng.standard_normal((100, 64))
stored = np.lib.format.open_memmap("gallery.npy", "w+", np.float32, (30000, 64))
for k, identity in enumerate(gallery.identity):  # one by one, or by batches, as a model makes them
    stored[k] = centres[identity] + rng.standard_normal(64)
stored.flush()

# %%
# The file is mapped, not loaded.
gallery_features = np.load("gallery.npy", mmap_mode="r")
results = {memory: reid_ref.evaluate(query_features, gallery_features, query, gallery,
                                     max_memory=memory) for memory in ("8M", "64M")}
for memory, result in results.items():
    print(memory, result.mAP, result.rank(1))

# %%
# In a terminal a folder of ``.npy`` files is mapped: ``reid-ref evaluate FOLDER --max-memory 8M``.
figure, axes = plt.subplots(layout="constrained")
reid_ref.figures.precision_recall({"8 MB": results["8M"]}, axes)
