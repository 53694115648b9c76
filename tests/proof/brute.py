"""Ranks the slow way: one query at a time, one image at a time, in plain Python.

It knows nothing of tiles, counts and roles: it sorts each query's images by (NaN last, distance,
place in the gallery), walks the list, and asks of every image whether it is ignored and whether
it is good, in the words of `conventions.IGNORED`.
"""
import numpy as np

FIELDS = ("rank", "nearer", "tied", "image", "found", "n_good", "n_junk", "n_kept", "first_match")


def location(camera):
    return 2 if camera == 3 else camera


def is_ignored(rules, query_identity, query_camera, identity, camera):
    return ("label -1" in rules and identity == -1
            or "same identity, same camera" in rules and identity == query_identity
            and camera == query_camera
            or "same camera" in rules and camera == query_camera
            or "same location" in rules and location(camera) == location(query_camera))


def roles(query, gallery, rules, lists, k):
    """Return the good and the ignored images of query k, as sets."""
    if lists is not None and "listed as junk" in rules:
        return set(lists.good[k].tolist()), set(lists.junk[k].tolist())
    labels = query.identity[k], query.camera[k]
    images = list(enumerate(zip(gallery.identity.tolist(), gallery.camera.tolist())))

    def is_out(j, image, rules):
        return (is_ignored(rules, *labels, *image)
                or "other camera" in rules and image[1] != labels[1]
                or "other video" in rules and gallery.video[j] != query.video[k]
                or "itself" in rules and image[0] == labels[0]
                and gallery.name[j] == query.name[k]
                or "not a candidate" in rules and not lists.mask[k][j])

    junk = {j for j, image in images if is_out(j, image, rules)}
    # Label -1 makes images junk, but evaluation.m does not ask for it before it calls one good.
    without_label = set(rules) - {"label -1"}
    good = {j for j, image in images
            if image[0] == labels[0] and not is_out(j, image, without_label)}
    return good, junk


def ranks(distances, query, gallery, rules, lists=None, order_of=None):
    """Return the fields of `GoodRanks`, each a list; `distances` are rows of plain numbers.

    `order_of`: a query's ranked list, by its number; it may be cut.
    """
    fields = {name: [] for name in FIELDS}
    for k, row in enumerate(distances):
        good, junk = roles(query, gallery, rules, lists, k)
        order = (sorted(range(len(row)), key=lambda j: (row[j] != row[j], _number(row[j]), j))
                 if order_of is None else order_of(k))
        kept = [j for j in order if j not in junk]
        of_query = []
        so_far = first_match = 0
        for j in order:
            if j in good and not first_match:
                first_match = so_far + 1
            if j in good and j not in junk:
                of_query.append((so_far + 1, sum(is_nearer(row[i], row[j]) for i in kept),
                                 sum(is_as_near(row[i], row[j]) for i in kept), j))
            so_far += j not in junk
        for name, column in zip(FIELDS, zip(*of_query)):
            fields[name].extend(column)
        for name, value in zip(FIELDS[4:], (len(of_query), len(good), len(junk), len(kept),
                                            first_match), strict=True):
            fields[name].append(value)
    return fields


def exact_distances(query, gallery, metric, normalize):
    """Return what features are ranked by, pair by pair; NaN where a norm is 0."""
    query, gallery = query.astype(float), gallery.astype(float)
    squares = [(row * row).sum() for row in gallery]
    distances = []
    for row in query:
        products = [(row * image).sum() for image in gallery]
        if normalize or metric == "cosine":
            distances.append([-product / np.sqrt(square) if square and row.any() else np.nan
                              for product, square in zip(products, squares)])
        else:
            distances.append([square - 2 * product if metric == "euclidean" else -product
                              for product, square in zip(products, squares)])
    return distances


def assert_equal(good_ranks, expected):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(good_ranks, name), expected[name], err_msg=name)


def is_nearer(a, b):
    return a < b or (a == a and b != b)


def is_as_near(a, b):
    return a == b or (a != a and b != b)


def _number(value):
    return 0 if value != value else value
