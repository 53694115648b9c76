"""The drivers as a table: the lines of each in their order, its precision, its files."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    """One line of a driver.

    Parameters
    ----------
    space : str
        In which distances are measured: a key of `reid_ref.drivers.lines.SPACES`.
    reranked : bool
        Whether k-reciprocal re-ranking follows.
    """

    space: str
    reranked: bool = False


@dataclass(frozen=True)
class Driver:
    """What a driver does.

    Parameters
    ----------
    script, repository, commit : str
        Where it is.
    dtype : str
        Of the features that it computes with.
    methods : mapping of str to Method
        Its lines, in the order in which it prints them.
    convention : str
        How it evaluates: a key of `reid_ref.CONVENTIONS`.
    camera_pairs : bool
        Whether it prints means over pairs of cameras.
    files : str
        What it loads, of query and gallery.
    training_files : str
        What it loads for the learnt metrics.
    """

    script: str
    repository: str
    commit: str
    dtype: str
    methods: Mapping[str, Method]
    convention: str
    camera_pairs: bool
    files: str
    training_files: str

    @property
    def without_training(self) -> str:
        """Why a learnt line is left out where there are no training images."""
        return f"learns from training images; {self.training_files} would give them"


_RERANKED = {
    "Euclidean": Method("features"),
    "Euclidean + re-ranking": Method("features", reranked=True),
    "XQDA": Method("xqda"),
    "XQDA + re-ranking": Method("xqda", reranked=True),
}

#: Name of a driver to what it does.
DRIVERS: Mapping[str, Driver] = {
    "market1501": Driver(
        "Market_1501_evaluation.m", "zhunzhong07/person-re-ranking", "278f2c7", "float32",
        _RERANKED, "matlab", camera_pairs=False,
        files="ResNet_50_IDE_query.mat, ResNet_50_IDE_test.mat, queryID.mat, queryCam.mat, "
              "testID.mat, testCam.mat",
        training_files="ResNet_50_IDE_train.mat, train_label.mat, train_cam.mat"),
    "cuhk03": Driver(
        "CUHK03_evaluation.m", "zhunzhong07/person-re-ranking", "278f2c7", "float64",
        _RERANKED, "matlab", camera_pairs=False,
        files="ResNet_50_IDE_detected.mat, cuhk03_new_protocol_config_detected.mat",
        training_files="ResNet_50_IDE_detected.mat (all images), "
                       "cuhk03_new_protocol_config_detected.mat"),
    "mars": Driver(
        "test_mars.m", "liangzheng06/MARS-evaluation", "3a91bbc", "float64",
        {"XQDA": Method("xqda"), "KISSME": Method("kissme mars"),
         "Mahalanobis": Method("similar pairs"), "Euclidean": Method("components")},
        "mars", camera_pairs=True,
        files="ide_feat_test.mat, tracks_test_info.mat, query_IDX.mat",
        training_files="ide_feat_train.mat, tracks_train_info.mat"),
    "ide": Driver(
        "baseline_evaluation_IDE.m", "zhunzhong07/IDE-baseline-Market-1501", "8be027b", "float64",
        {"Euclidean": Method("features"), "XQDA": Method("xqda"), "KISSME": Method("kissme ide")},
        "matlab", camera_pairs=False,
        files="IDE_ResNet_50_query.mat, IDE_ResNet_50_test.mat, queryID.mat, queryCam.mat, "
              "testID.mat, testCam.mat",
        training_files="IDE_ResNet_50_train.mat, train_label.mat, train_cam.mat"),
}
