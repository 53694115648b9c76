"""
A benchmark by its name
=======================

SYSU-MM01 as its own code evaluates it: ten galleries for each search, the camera rule, the mean.
"""
import warnings

import matplotlib.pyplot as plt
import numpy as np

import reid_ref

# %%
# Infrared images ask (cameras 3 and 6), visible ones answer (1, 2, 4, 5). A warning would say that
# the real benchmark has more images.
warnings.simplefilter("ignore")
rng = np.random.default_rng(5)
query = reid_ref.Labels(1 + np.arange(240) % 40, np.where(np.arange(240) < 120, 3, 6))
gallery = reid_ref.Labels(1 + np.arange(960) % 40, np.repeat([1, 2, 4, 5], 240))
centres = rng.standard_normal((41, 32))
features = {side: centres[labels.identity] + rng.standard_normal((len(labels.identity), 32))
            for side, labels in (("query", query), ("gallery", gallery))}
result = reid_ref.evaluate_protocol("sysu-mm01-python", features["query"], features["gallery"],
                                    query, gallery)
for part, numbers in result.items():
    print(f"{part}: mAP {numbers.mAP:.2%}, Rank-1 {numbers.rank(1):.2%}, "
          f"sd of mAP over {len(numbers.trials)} galleries {numbers.sd['mAP']:.2%}")

# %%
# In a terminal: ``reid-ref evaluate result.npz --protocol sysu-mm01-python``.
# ``reid-ref protocols`` lists the benchmarks.
figure, axes = plt.subplots(layout="constrained")
reid_ref.figures.cmc(dict(result.items()), axes)
