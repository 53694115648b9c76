"""Data of others that tests read where they are: the folder `shared` beside the checkout.

Most of these files carry no licence, so they cannot be in the repository. Here, and only here,
is decided what happens without them: the tests that ask for one are skipped, with the file and
its source in pytest's summary; with ``REID_REF_SHARED=required`` in the environment they fail.
"""
from pathlib import Path

from tests.installed import absent

SHARED = Path(__file__).resolve().parents[2] / "shared"

#: Where each folder or file of `shared` comes from: a repository on GitHub and its commit.
SOURCES = {
    "goldens/market1501_full.mat": "evaluation.m of zhunzhong07/person-re-ranking (278f2c7) in "
                                   "Octave, on the labels of Market-1501 and made features",
    **dict.fromkeys((f"cases/{name}" for name in (
        "text_identities.npz", "one_set.npz", "gait_cl.npz", "identity_lists.csv",
        "identity_lists_truth.csv", "long_list.csv", "long_list_query.csv",
        "long_list_gallery.csv", "labelled_distances.csv")), "made for this project"),
    "goldens/protocols": "recorded answers of the benchmarks' own codes, which each file names",
    "published/published.csv": "the figures collected for reid_ref/datasets/published.csv",
    "real/cityflow": "Paulamde/VPULab-CityFlow-ReID-Evaluation-Framework (1941f9b) and "
                     "yp000925/aic19-track2-reid (6d48fd5)",
    "real/cuhk03_np_100q": "huanghoujing/person-re-identification-check-eval-code (c14e4a5)",
    "real/duke": "VisualComputingInstitute/triplet-reid (a538696)",
    "real/market1501": "VisualComputingInstitute/triplet-reid (a538696) and "
                       "zhunzhong07/person-re-ranking (278f2c7)",
    "real/mars": "liangzheng06/MARS-evaluation (3a91bbc)",
    "real/msmt17": "December-boy/MSMT17_Evaluation (8b130c6)",
    "real/occluded_duke": "lightas/Occluded-DukeMTMC-Dataset (dcba185)",
    "real/oxford5k": "oddconcepts/oxford-benchmark (f73b8cb) and zero1778/CS419-Project (9eb4ad9)",
    "real/person_search": "tinyvision/SOLIDER-PersonSearch (3204adb) and zqx951102/AMPN (ba13c61)",
    "real/sketch_reid": "Gralach/SketchReidLightweightCNN (e5cf514)",
    "real/sysu_mm01": "wuancong/SYSU-MM01 (0499112)",
    "real/veri776": "liu-xb/RAM (fb92aab)",
}


def shared(name):
    """Return the path of one of `SOURCES`; skip the test, or fail, where it is absent."""
    path = SHARED / name
    if not path.exists():
        absent(f"{path} is not there; it is from {SOURCES[name]}", "REID_REF_SHARED")
    return path
