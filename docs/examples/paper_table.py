"""
The main table of a paper
=========================

Two methods on two benchmarks, with the marks of a paired test, in LaTeX.
"""
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import reid_ref
from reid_ref.cli import main  # what the command reid-ref calls

rng = np.random.default_rng(0)


def features(labels, noise):
    """Draw features that are nearer within an identity: your model's in their place."""
    return np.eye(33)[labels.identity] + noise * rng.standard_normal((len(labels.identity), 33))


# %%
# One saved result per method and benchmark; ``reid-ref evaluate FILE --save`` writes the same.
results = {}
for benchmark, n_query in (("indoor", 96), ("street", 160)):
    query = reid_ref.Labels(1 + np.arange(n_query) % 32, np.ones(n_query, int))
    gallery = reid_ref.Labels(1 + np.arange(320) % 32, 2 + np.arange(320) // 64)
    for method, noise in (("BoT", .32), ("ours", .3)):
        Path(method).mkdir(exist_ok=True)
        result = reid_ref.evaluate(features(query, noise), features(gallery, noise),
                                   query, gallery)
        result.save(f"{method}/{benchmark}.json")
        results[f"{method}, {benchmark}"] = result

# %%
# In a terminal: ``reid-ref compare BoT ours``. A system is the folder of its results.
assert main(["compare", "BoT", "ours"]) == 0

# %%
# The same as a LaTeX float, with the signatures as comments.
assert main(["compare", "BoT", "ours", "--format", "latex"]) == 0

# %%
# The CMC curves of the four, with 95 % intervals by identity.
figure, axes = plt.subplots(layout="constrained")
reid_ref.figures.cmc(results, axes)
