"""The doctor on labels and features that give the answer away, or that name each other's."""
import json
from dataclasses import replace

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.analysis.doctor import checked, diagnose
from reid_ref.evaluation.how import How
from tests.cases import save_features
from tests.commands.common import command, table
from tests.commands.test_doctor import RNG, labels, features, of_distances, of_features, sound
from tests.commands.test_doctor_values import by_key, columns, traced
from tests.shared import shared


def mean_ap(data):
    return reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                             data.gallery).mAP


def relabelled(data, numbers):
    return replace(data, query=columns(
        data.query, identity=lambda one: np.array([numbers[k] for k in one.tolist()])))


# ---------------------------------------------------------------- numbered for each side apart

def permuted(own):
    return dict(zip(own, RNG(1).permutation(own).tolist()))


def as_text(own):
    return dict(zip(sorted(own, key=str), own))


def without_one(own):
    """Identity 20 has no query, so that those after it move up."""
    return {k: k - (k > 20) for k in own if k != 20}


@pytest.mark.parametrize("numbers", [permuted, as_text, without_one])
@pytest.mark.parametrize("as_given", [lambda data: data, of_distances])
def test_identities_numbered_apart(numbers, as_given):
    data = sound(3)
    new = numbers(np.unique(data.gallery.identity).tolist())
    kept = np.isin(data.query.identity, [*new])
    data = replace(data, query=data.query[kept], query_features=data.query_features[kept])
    spoilt = as_given(relabelled(data, new))
    found = by_key(spoilt)
    one = found.get("numbered-apart", found.get("identity-offset"))
    assert one.severity == "error" and one.evidence["nearer"] < .75
    assert all(one.evidence[f"identity_{new[own]}"] == own for own in data.query.identity.tolist())
    assert one.evidence["mAP"] < one.evidence["mAP_renumbered"] - .05
    if as_given is not of_distances:
        assert one.evidence["mAP_renumbered"] == round(mean_ap(data), 6)


def test_the_case_of_folders_numbered_one_by_one():
    found = by_key(reid_ref.read(shared("cases") / "numbered_per_side.npz"))["numbered-apart"]
    right = [1, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 19, 21, 22, 24, 25, 26, 27, 30, 31, 32, 33, 35,
             36, 37, 39]
    assert [found.evidence[f"identity_{k}"] for k in range(26)] == right
    assert found.sentence.endswith("renumbered, mAP of 52 queries is 84.80 instead of 2.81.")


@pytest.mark.parametrize("seed", range(4))
def test_persons_who_look_alike_are_numbered_right(seed):
    query, gallery = labels(seed)
    sides = features(query, gallery, seed, 1)
    twins = RNG(seed).standard_normal((21, 64))
    sides = [rows + 2 * twins[side.identity // 2] for rows, side in zip(sides, (query, gallery))]
    assert by_key(of_features(query, gallery, *sides)) == {}


def test_one_image_on_each_side_cannot_show_it():
    gallery = Labels(np.arange(1, 41), np.full(40, 2))
    query = Labels(np.arange(1, 41), np.full(40, 1))
    data = of_features(query, gallery, *features(query, gallery, 0, .1))
    spoilt = checked(relabelled(data, permuted(list(range(1, 41)))))
    assert "numbering of identities" in diagnose(spoilt).skipped


def strong(seed=3, **kwargs):
    """Sound data of a good network: nearly all good images are nearer."""
    query, gallery = labels(seed, cameras=6, **kwargs)
    return of_features(query, gallery, *features(query, gallery, seed, .7))


def test_rows_out_of_order_are_no_numbering():
    data = strong()
    order = np.concatenate([part[::-1] for part in np.split(np.arange(600), 12)])
    found = by_key(replace(data, gallery_features=data.gallery_features[order]))
    assert not {"numbered-apart", "identity-offset", "camera-trace"} & {*found}
    assert {"sides-misfit", "chance-level"} & {*found}


def test_persons_of_another_checkpoint_are_not_numbered_apart():
    """It made half of the gallery; whoever looks alike and is in the other half is nearest."""
    query, gallery = labels(4, n_query=1000, n_gallery=1500, identities=250, cameras=6)
    gallery = gallery[np.argsort(gallery.identity, kind="stable")]
    gallery = Labels(gallery.identity, RNG(1).integers(1, 7, 1500))
    rows = features(query, gallery, 4, .2, dimension=4)
    rows[1][750:] = features(query, gallery, 5, .2, dimension=4)[1][750:]
    assert "numbered-apart" not in by_key(of_features(query, gallery, *rows))


def test_sides_made_in_two_ways():
    """The same columns in another order on one side: each side fits its labels."""
    data = strong()
    found = by_key(replace(data, gallery_features=data.gallery_features[
        :, RNG(0).permutation(64)])).get("sides-misfit")
    assert found is None or "made in another way" in found.sentence
    turned = np.linalg.qr(np.eye(64) + .5 * RNG(0).standard_normal((64, 64)))[0]
    spoilt = by_key(replace(data, gallery_features=data.gallery_features @ turned))
    assert not {"numbered-apart", "reversed"} & {*spoilt} and (
        {"sides-misfit", "sides-apart"} & {*spoilt})


def test_first_matches_later_than_by_chance():
    """Queries out of order among images of their own kind, such as day and night."""
    query, gallery = labels(5, n_query=240)
    query_rows, gallery_rows = (rows + (side.identity % 2)[:, np.newaxis] for rows, side in zip(
        features(query, gallery, 5, .5), (query, gallery)))
    right = of_features(query, gallery, query_rows, gallery_rows)
    wrong = query_rows.copy()
    for kind in (0, 1):
        rows = np.flatnonzero(query.identity % 2 == kind)
        wrong[rows] = query_rows[RNG(2).permutation(rows)]
    spoilt = replace(right, query_features=wrong)
    assert mean_ap(spoilt) < .1 < .5 < mean_ap(right)
    assert "below-chance" in by_key(spoilt) and by_key(right) == {}


def test_no_more_pairs_are_far_than_are_not_near():
    """A camera whose features are negated: all of its good images come last."""
    data = strong(n_query=240)
    rows = data.gallery_features * np.where(data.gallery.camera == 1, -1, 1)[:, np.newaxis]
    found = by_key(of_distances(replace(data, gallery_features=rows)))["two-modes"].evidence
    assert found["share"] <= 1 - found["near"] < .25


def test_values_that_wrap_are_at_chance():
    """A little better than chance, surely so, and no better than that."""
    data = strong(n_query=400)
    rows = [np.round(side * 127 / np.quantile(abs(side), .65)).astype(int).astype("i1")
            for side in (data.query_features, data.gallery_features)]
    found = by_key(of_features(data.query, data.gallery, *rows))["chance-level"].evidence
    assert .5 < found["auc"] - 4 * found["standard_error"] < found["auc"] < .58


def test_several_persons_under_one_number():
    data = strong(n_gallery=1200)
    found = by_key(relabelled(data, {k: k % 20 + 1 for k in range(1, 41)}))
    assert found == {} or "two-modes" not in found
    both = [columns(side, identity=lambda one: one % 20 + 1)
            for side in (data.query, data.gallery)]
    assert [*by_key(replace(data, query=both[0], gallery=both[1]))] == ["identities-merged"]


# ---------------------------------------------------------------- features that know the answer

def drawn(labels, rows, share):
    """Rows drawn towards the mean of their identity."""
    rows = rows.copy()
    for identity in np.unique(labels.identity):
        here = labels.identity == identity
        rows[here] = (1 - share) * rows[here] + share * rows[here].mean(axis=0)
    return rows


@pytest.mark.parametrize(("side", "share", "key"), [
    ("query", 1, "equal-within-identity"), ("query", .5, "averaged-features"),
    ("gallery", .5, "averaged-features"), ("gallery", 1, "equal-within-identity")])
def test_features_drawn_towards_their_identity(side, share, key):
    data = traced(trace=.3)
    rows = drawn(getattr(data, side), getattr(data, f"{side}_features"), share)
    spoilt = replace(data, **{f"{side}_features": rows})
    assert mean_ap(spoilt) > mean_ap(data)
    found = by_key(spoilt)[key]
    assert found.severity == ("error" if share == 1 else "note")
    assert key not in by_key(data)


def test_means_over_tracklets_are_a_note():
    data = traced(trace=.3)
    cells, place = np.unique(np.stack([data.gallery.identity, data.gallery.camera]), axis=1,
                             return_inverse=True)
    rows = np.stack([data.gallery_features[place.reshape(-1) == k].mean(axis=0)
                     for k in range(cells.shape[1])])
    found = by_key(replace(data, gallery=Labels(*cells), gallery_features=rows))
    assert {one.severity for one in found.values()} <= {"note"}


def test_database_augmentation_is_no_mistake():
    data = traced(trace=.3)
    query, unit = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (
        data.query_features, data.gallery_features))
    mean = unit[np.argsort(-unit @ unit.T, axis=1)[:, :6]].mean(axis=1)
    mean[np.arange(30, 210, 15)] = mean[np.arange(70, 250, 15)]  # of the same neighbours
    same = data.gallery.identity[np.arange(600)]
    same[np.arange(30, 210, 15)] = same[np.arange(70, 250, 15)]
    found = by_key(replace(data, gallery=columns(data.gallery, identity=lambda one: same),
                           query_features=query, gallery_features=mean / np.linalg.norm(
                               mean, axis=1, keepdims=True)))
    assert {one.severity for one in found.values()} <= {"note"}


@pytest.mark.parametrize(("values", "key", "said"), [
    (lambda side: side.identity / 5, "column-of-labels", "the identity of an image can be read"),
    (lambda side: 5 * side.camera, "column-of-labels", "the camera of an image can be read"),
    (lambda side: np.arange(len(side)) / 50, "column-of-labels", "the row of an image can be"),
    (lambda side: 1000 + 30 * RNG(len(side)).standard_normal(len(side)), "one-column",
     "Column 32 of 33")])
def test_columns_that_tell(values, key, said):
    data = traced(trace=.3)
    spoilt = replace(data, **{f"{side}_features": np.column_stack([
        getattr(data, f"{side}_features"), values(getattr(data, side))])
        for side in ("query", "gallery")})
    sentences = [one.sentence for one in diagnose(checked(spoilt)).findings
                 if one.key == f"doctor:{key}"]
    assert any(said in sentence for sentence in sentences)


def test_columns_that_are_dead_or_sparse_tell_nothing():
    data = traced(trace=.3)
    for side in ("query", "gallery"):
        rows = getattr(data, f"{side}_features").copy()
        rows[:, :5] = 0
        rows[:, 5] = getattr(data, side).identity == 7
        data = replace(data, **{f"{side}_features": rows})
    assert by_key(data) == {}


# ---------------------------------------------------------------- nothing to be wrong about

def test_one_identity_everywhere(tmp_path):
    path = shared("cases") / "one_identity.npz"
    answer = json.loads(command("doctor", path, "--json").stdout)
    assert [one["key"] for one in answer["findings"] if one["severity"] == "error"] == [
        "doctor:placeholders"]
    assert not any("ignored=nothing" in one["remedy"] for one in answer["findings"])
    done = command("evaluate", path, "--strict")
    assert done.returncode == 1 and "16 queries and 40 gallery images have identity 2" in (
        done.stderr)


@pytest.mark.parametrize("identity", [-1, 0, 2])
def test_placeholders_by_name(identity):
    data = sound()
    spoilt = replace(data, **{side: columns(getattr(data, side), identity=lambda one: np.full(
        len(one), identity)) for side in ("query", "gallery")})
    found = diagnose(checked(spoilt)).findings[0]
    assert (found.key, found.evidence["identity"]) == ("doctor:placeholders", identity)


@pytest.mark.parametrize(("n", "severity"), [(1, "warning"), (120, "error")])
def test_queries_that_have_no_wrong_image(n, severity):
    data = sound()
    mask = np.ones((120, 600), bool)
    mask[:n] = data.query.identity[:n, np.newaxis] == data.gallery.identity
    found = by_key(replace(data, candidates=reid_ref.Candidates(mask)))["nothing-wrong"]
    assert (found.severity, found.evidence["nothing_wrong"]) == (severity, n)


# ---------------------------------------------------------------- labels and images

def test_identities_that_overflowed():
    data = sound(identities=200, n_gallery=1200)
    spoilt = replace(data, **{side: columns(getattr(data, side), identity=lambda one: one.astype(
        "i1")) for side in ("query", "gallery")})
    assert by_key(spoilt)["identities-wrapped"].evidence == {"least": -128}


def test_identity_and_camera_of_one_side_exchanged():
    data = sound()
    spoilt = replace(data, gallery=Labels(data.gallery.camera + 100, data.gallery.identity))
    query = Labels(data.query.identity, data.query.camera + 100)
    found = diagnose(checked(replace(spoilt, query=query))).findings[0]
    assert (found.key, found.severity) == ("doctor:labels-swapped", "error")


def test_queries_of_one_camera_show_no_trace():
    data = traced()
    one = replace(data, query=data.query[data.query.camera == 1],
                  query_features=data.query_features[data.query.camera == 1])
    diagnosis = diagnose(checked(one))
    assert "doctor:camera-trace" not in {found.key for found in diagnosis.findings}
    assert "cameras of both sides" in diagnosis.skipped


def test_features_cast_without_a_scale():
    data = traced(dimension=128)
    rows = [np.trunc(side / abs(data.gallery_features).max() * 1.99).astype("i1")
            for side in (data.query_features, data.gallery_features)]
    found = by_key(of_features(data.query, data.gallery, *rows))
    assert {"duplicate-features", "zero-features", "shared-features"} & {*found}


def test_a_block_of_distances_that_was_not_filled():
    def unfilled(distances):
        distances[:, -150:] = 0
        return distances

    found = by_key(of_distances(sound(), unfilled))
    assert found["unfilled-distances"].evidence == {"constant": 150}
    assert "query-in-gallery" not in found


@pytest.mark.parametrize("spoil", [
    lambda values, data: values * (data.query.camera[:, np.newaxis] != data.gallery.camera),
    lambda values, data: np.where(values <= np.sort(values, axis=1)[:, [40]], values, 0)])
def test_images_that_are_left_out_come_first(spoil):
    data = sound()
    spoilt = of_distances(data, lambda values: spoil(values - values.min() + 1, data))
    found = by_key(spoilt)
    assert "reversed" not in found and "unfilled-distances" in found
    assert any("less than all others" in one.sentence for one in reid_ref.doctor(spoilt))


@pytest.mark.parametrize(("values", "found"), [(1, True), (-1, False)])
def test_an_array_named_similarity_is_looked_at(values, found, tmp_path):
    data = of_distances(sound())
    np.savez(tmp_path / "named.npz", similarity=values * data.distances, **{
        f"{side[0]}_{key}": getattr(getattr(data, side), name) for side in ("query", "gallery")
        for key, name in (("pids", "identity"), ("camids", "camera"))})
    done = command("doctor", tmp_path / "named.npz")
    assert ("doctor:reversed" in done.stdout) == found and "not seen  " in done.stdout


@pytest.mark.parametrize("fill", [0, np.inf])
def test_jaccard_distances_reach_1_by_right(fill):
    """No neighbour shared, by most images; a block that was not filled is one all the same."""
    data = sound()
    unit = np.concatenate([data.query_features, data.gallery_features])
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    similar = unit @ unit.T
    near = (similar >= np.sort(similar, axis=1)[:, [-6]]).astype(float)
    shared_ = near[:120] @ near[120:].T
    distances = 1 - shared_ / (12 - shared_)
    distances[:, :3] = 1
    given = replace(data, query_features=None, gallery_features=None, distances=distances)
    assert not {"unfilled-distances", "query-in-gallery"} & {*by_key(given)}
    distances[:, -150:] = fill
    assert "unfilled-distances" in by_key(given)


def test_the_gallery_twice_under_other_cameras():
    data = traced()
    twice = replace(data, gallery=Labels(np.tile(data.gallery.identity, 2), np.r_[
        data.gallery.camera, data.gallery.camera + 10]), gallery_features=np.tile(
            data.gallery_features, (2, 1)))
    assert by_key(twice)["repeated-images"].evidence["gallery"] == 600


def test_a_diagonal_of_zeros_and_columns_scaled_apart():
    data = sound()

    def zero(distances):
        distances[np.arange(120), np.arange(120)] = 0
        return distances

    assert by_key(of_distances(data, zero))["zero-diagonal"].evidence["pairs"] == 120
    for axis, severity in ((0, "warning"), (1, "note")):
        found = by_key(of_distances(data, lambda one: (one - one.min(axis, keepdims=True))
                                    / np.ptp(one, axis=axis, keepdims=True)))
        assert {key: one.severity for key, one in found.items()} == {
            "scaled-distances": severity}


@pytest.mark.parametrize("code", [
    lambda rows: rows[:, :8] > 0, lambda rows: np.sign(rows[:, :16]),
    lambda rows: (rows > 0).astype("u1"), lambda rows: np.round(8 * rows).astype("i1")])
def test_codes_are_no_finding(code):
    data = traced(trace=.3)
    made = [np.asarray(code(rows), "f4") for rows in (data.query_features, data.gallery_features)]
    found = by_key(of_features(data.query, data.gallery, *made))
    assert {one.severity for one in found.values()} <= {"note"}


# ---------------------------------------------------------------- what options rank

def test_images_of_few_words_are_equal_by_right():
    """Product-quantised: each eighth of the columns is the nearest of 12 words."""
    query, gallery = labels(0, n_query=300, n_gallery=1800)
    words = RNG(2).standard_normal((8, 12, 8))
    rows = [np.concatenate([one[((side[:, k:k + 8, np.newaxis] - one.T) ** 2).sum(1).argmin(1)]
                            for k, one in zip(range(0, 64, 8), words)], axis=1)
            for side in features(query, gallery, 0, .3)]
    assert not {"query-in-gallery", "repeated-images", "shared-features"} & {
        *by_key(of_features(query, gallery, *rows))}


def test_one_set_against_itself(tmp_path):
    data = sound()
    arrays = {f"{side}_{name}": values for side in ("query", "gallery") for name, values in (
        ("f", data.gallery_features), ("label", data.gallery.identity))}
    np.savez(tmp_path / "one.npz", **arrays)
    found, = [one for one in json.loads(command(
        "doctor", tmp_path / "one.npz", "--json").stdout)["findings"]
        if one["severity"] != "note"]
    assert found["key"] == "doctor:query-in-gallery"
    assert "camera" not in found["sentence"] and "--set ignored=itself" in found["remedy"]
    answer = json.loads(table("doctor", tmp_path / "one.npz", "--set", "ignored=itself", "--json"))
    assert [one for one in answer["findings"] if one["severity"] != "note"] == []
    assert command("evaluate", tmp_path / "one.npz", "--set", "ignored=itself").stderr == ""


@pytest.mark.parametrize(("options", "found"), [
    ([], True), (["--set", "ignored=nothing"], False), (["--convention", "simpleir"], False),
    (["--convention", "torchreid"], True)])
def test_cameras_are_checked_where_they_are_looked_at(options, found, tmp_path):
    data = sound()
    one_camera = [Labels(side.identity, side.camera * 0) for side in (data.query, data.gallery)]
    save_features(tmp_path / "one.npz", (data.query_features, data.gallery_features), *one_camera)
    done = command("doctor", tmp_path / "one.npz", *options)
    assert done.returncode == found and ("doctor:single-camera" in done.stdout) == found


def test_a_protocol_names_what_is_ranked(tmp_path):
    """RegDB looks at no camera; of two parts one is asked for."""
    data = sound()
    save_features(tmp_path / "made.npz", (data.query_features, data.gallery_features),
                  data.query, data.gallery)
    done = command("doctor", tmp_path / "made.npz", "--protocol", "regdb")
    assert done.returncode == 2 and "--part" in done.stderr
    text = table("doctor", tmp_path / "made.npz", "--protocol", "regdb", "--part",
                 "thermal-to-visible")
    assert "600 queries, 120 gallery" in text
    refused = command("doctor", tmp_path / "made.npz", "--protocol", "prw")
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1


def test_raw_features_are_judged_under_conventions_that_rank_them():
    data = traced()
    scale = 10 ** RNG(2).uniform(1, 3, (len(data.gallery), 1))
    data = replace(data, gallery_features=data.gallery_features * scale)
    keys = {one.key for one in diagnose(checked(data, How((
        reid_ref.CONVENTIONS["torchreid"],)))).findings}
    assert "doctor:chance-level" in keys
