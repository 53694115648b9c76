"""
Is it better, or luck?
======================

Two systems on the same queries: the difference, its interval and a paired test, by identity.
"""
import matplotlib.pyplot as plt
import numpy as np

import reid_ref

rng = np.random.default_rng(1)
query = reid_ref.Labels(1 + np.arange(200) % 50, np.ones(200, int))
gallery = reid_ref.Labels(1 + np.arange(1000) % 50, 2 + np.arange(1000) // 200)
centres = rng.standard_normal((51, 24))
sides = [centres[side.identity] for side in (query, gallery)]
# What is hard is hard for both.
hard = [.8 * rng.standard_normal(side.shape) for side in sides]


def system(noise):
    """Evaluate features with that much noise of their own."""
    features = [side + same + noise * rng.standard_normal(side.shape)
                for side, same in zip(sides, hard)]
    return reid_ref.evaluate(*features, query, gallery)


baseline, ours = system(.35), system(.25)

# %%
# An interval of one number says how much it may change with other identities.
for name, result in (("baseline", baseline), ("ours", ours)):
    interval = result.interval("mAP")
    print(f"{name}: mAP {result.mAP:.2%}, {interval.low:.2%} to {interval.high:.2%}")

# %%
# The intervals of two systems may overlap and the difference still be clear: the queries are the
# same. The test is by sign flips of identities.
compared = reid_ref.compare(baseline, ours, names=["baseline", "ours"])
for change in compared.comparisons:
    print(f"{change.metric}: {change.difference:+.2%}, {change.low:+.2%} to {change.high:+.2%}, "
          f"p {change.p:.4f}")

# %%
# The share of queries up to each AP: the lower curve is the better system.
figure, axes = plt.subplots(layout="constrained")
reid_ref.figures.average_precision({"baseline": baseline, "ours": ours}, axes)
