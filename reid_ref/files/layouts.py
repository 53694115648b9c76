"""The known layouts of result files, and the role that a file or variable name means.

Aim: one table for code, messages and documentation. The fields are `query_features` and
`gallery_features`, or `distances`, and four label vectors; a file may have further columns of
labels. A layout says what each is called in the file, and whether its matrices have one column
per image.

Source: each layout names the script that writes or reads it.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reid_ref.labels import FURTHER

FEATURES = ("query_features", "gallery_features")
LABELS = ("query_identity", "query_camera", "gallery_identity", "gallery_camera")
#: Further fields that a file may have, each by this name in every layout.
OPTIONAL = tuple(f"{side}_{column}" for side in ("query", "gallery") for column in FURTHER)


@dataclass(frozen=True)
class Layout:
    """How a script stores features or distances with labels.

    Parameters
    ----------
    title : str
        What it is, in words.
    source : str
        The script that writes or reads it.
    keys : mapping of str to str
        Our field to the key (or example file name) that holds it.
    columns : bool
        The matrices have one column, not one row, per image (features) or query (distances).
    """

    title: str
    source: str
    keys: Mapping[str, str]
    columns: bool = False


def _keys(labels: str, *matrices: str) -> dict[str, str]:
    """Return field to key: features of both sides or distances, then the four labels."""
    fields = FEATURES if len(matrices) == 2 else ("distances",)
    return dict(zip((*fields, *LABELS), (*matrices, *labels.split())))


_LAYUMI, _LAYUMI_LABELS = ("layumi/Person_reID_baseline_pytorch, test.py",
                           "query_label query_cam gallery_label gallery_cam")

#: One file that holds everything, by its keys, or a folder of .npy files named by the keys; the
#: first that fits is taken.
LAYOUTS: Mapping[str, Layout] = {
    "layumi": Layout(
        "layumi's pytorch_result (features, one row per image)", _LAYUMI,
        _keys(_LAYUMI_LABELS, "query_f", "gallery_f")),
    "reid-ref": Layout(
        "reid-ref's own names (features, one row per image)", "reid-ref",
        _keys(" ".join(LABELS), *FEATURES)),
    "matlab-distances": Layout(
        "MATLAB's distances (dist, gallery x query)",
        "zhunzhong07/person-re-ranking, evaluation/utils/evaluation.m",
        _keys("label_query cam_query label_gallery cam_gallery", "dist"), columns=True),
    "torchreid-distances": Layout(
        "torchreid's distances (distmat, query x gallery)",
        "KaiyangZhou/deep-person-reid, torchreid/metrics/rank.py",
        _keys("q_pids q_camids g_pids g_camids", "distmat")),
    "layumi-distances": Layout(
        "distances (query x gallery) with layumi's label names", _LAYUMI,
        _keys(_LAYUMI_LABELS, "distances")),
    "reid-ref-distances": Layout(
        "distances (query x gallery) with reid-ref's own label names", "reid-ref",
        _keys(" ".join(LABELS), "distances")),
}

#: Several files, one array each, by their names.
SEPARATE: Mapping[str, Layout] = {
    "features": Layout(
        "the separate files of the MATLAB drivers (features, one column per image)",
        "zhunzhong07/person-re-ranking, evaluation/Market_1501_evaluation.m",
        _keys("queryID.mat queryCam.mat testID.mat testCam.mat",
              "ResNet_50_IDE_query.mat", "ResNet_50_IDE_test.mat"), columns=True),
    "npy": Layout(
        "separate .npy files (features, one row per image)", "reid-ref",
        _keys("query_label.npy query_cam.npy gallery_label.npy gallery_cam.npy",
              "query_f.npy", "gallery_f.npy")),
    "distances": Layout(
        "a distance matrix and four label files",
        "huanghoujing/person-re-identification-check-eval-code",
        _keys("query_id.txt query_cam.txt gallery_id.txt gallery_cam.txt",
              "query_gallery_distance.txt or .npy (query x gallery), or dist.mat "
              "(gallery x query)")),
}

_WORDS = {word: role for role, words in {
    "distances": "dist", "query": "query prob probe q", "gallery": "gallery gal test g",
    "identity": "id ids pid pids label labels identity identities",
    "camera": "cam cams camera cameras camid camids"}.items() for word in words.split()}
# The words of queryID, testCAM, probFea and querycam; but not of mquery, distractor, latest and
# Camstyle. `id` is a word only alone or after a side: IDE and GRID are no identities.
_BORDERS = (
    re.compile(r"(?<=[a-z])(?=[A-Z])"),
    re.compile(r"(?<![a-z])(?:query|probe?|gallery|gal|test)|dist(?!ract)"
               r"|(?:cam(?:era|id)?|label)s?(?![a-z])", re.IGNORECASE))


def role_of(name: str) -> str | None:
    """Return the field that a file or variable name means, or None.

    Names of query or gallery without identity or camera mean features.

    Examples
    --------
    >>> [role_of(name) for name in ("queryID", "testCAM", "query_gallery_distance")]
    ['query_identity', 'gallery_camera', 'distances']
    >>> role_of("ResNet_50_IDE_test"), role_of("feat")
    ('gallery_features', None)
    """
    for border in _BORDERS:
        name = border.sub(r" \g<0> ", name)
    words = {_WORDS[word] for word in re.findall("[a-z]+", name.lower()) if word in _WORDS}
    if "distances" in words:
        return "distances"
    sides, what = words & {"query", "gallery"}, words & {"identity", "camera"}
    if len(sides) != 1 or len(what) > 1:
        return None
    return f"{sides.pop()}_{what.pop() if what else 'features'}"


def role_of_array(key: str, path: Path, n_arrays: int) -> str | None:
    """Return the field of an array of a file, by its name, else by the file's if it is alone."""
    role = role_of(key)
    if role in (None, *FEATURES) and n_arrays == 1:
        return role_of(path.stem) or role
    return role
