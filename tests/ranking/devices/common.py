"""Problems for both paths, and the comparison of their results."""
import numpy as np

from reid_ref import CONVENTIONS, IndexLists, Labels
from tests.cases import quietly, same

#: Conventions that need neither whole rows nor lists, and those that need lists.
BY_LABELS = [name for name, convention in CONVENTIONS.items()
             if not convention.needs_rows and not convention.needs_lists]
BY_LISTS = ["veri", "oxford"]
BY_ROWS = [name for name, convention in CONVENTIONS.items() if convention.needs_rows]


def assert_same(one, other):
    """All fields of two results, or dicts of results, are equal, ranks and signature included."""
    if isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            same(one[name], other[name])
    else:
        same(one, other)


def assert_both(function, torch, there, *arrays, on_device=True, **options):
    """The result of arrays, which is that of tensors, and so are the warnings.

    `arrays`: features or distances, and the labels of both sides.
    """
    expected = quietly(function, *arrays, **options)
    found = quietly(function, *(torch.tensor(one) if isinstance(one, np.ndarray) else one
                                for one in arrays), **options)
    assert there.ran() == on_device
    assert found[1] == expected[1]
    assert_same(found[0], expected[0])
    return expected[0]


def problem(seed, dtype="float32"):
    """Features and labels of both sides."""
    rng = np.random.default_rng(seed)
    query, gallery = features(rng, dtype)
    return query, gallery, *labels(rng, len(query), len(gallery))


def labels(rng, n_query, n_gallery):
    """Few identities and cameras, with junk, distractors and queries without a match."""
    identities = int(rng.integers(1, 8))
    return tuple(Labels(rng.integers(-1, identities + 1, n), rng.integers(1, 5, n))
                 for n in (n_query, n_gallery))


def lists(rng, n_query, n_gallery):
    """Lists of good and of junk images, some of them on both."""
    def some():
        return [np.sort(rng.permutation(n_gallery)[:rng.integers(0, n_gallery // 2 + 1)])
                for _ in range(n_query)]
    return IndexLists(some(), some())


def features(rng, dtype="float32"):
    """Features of both sides with duplicates, near ties, zero rows and one long row."""
    n_query, n_gallery = int(rng.integers(1, 12)), int(rng.integers(1, 60))
    dimension = int(rng.choice([1, 2, 3, 7, 8, 9, 24, 130, 257]))
    query, gallery = (rng.standard_normal((n, dimension)) for n in (n_query, n_gallery))
    kind = rng.integers(6)
    if kind == 0:  # many ties
        query, gallery = query.round(), gallery.round()
    if kind == 1:  # all within the error of a product in single precision
        gallery = gallery[:1] * (1 + 1e-7 * rng.standard_normal(gallery.shape))
    if kind == 2:
        gallery[rng.integers(n_gallery)] *= 1e4
    if kind == 3:
        gallery[rng.random(n_gallery) < .3] = 0
        query[rng.random(n_query) < .3] = 0
    copied = rng.integers(0, n_gallery, (2, n_gallery // 2))
    gallery[copied[0]] = gallery[copied[1]]
    if rng.random() < .5:
        query[0] = gallery[-1]
    if np.dtype(dtype).kind in "iu":
        query, gallery = 20 * query, 20 * gallery
        if dtype == "uint8":
            query, gallery = abs(query).clip(0, 255), abs(gallery).clip(0, 255)
    return query.astype(dtype), gallery.astype(dtype)
