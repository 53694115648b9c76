"""Whatever chooses queries or images is in the signature: counts may be the same."""
import json

import numpy as np
import pytest

from reid_ref.commands.evaluate.command import EvaluateRequest
from tests.documents import ROOT, command

PRW = ROOT / "fixtures/test_scripts/prw.npz"
#: Options that choose, each as two command lines with another choice.
CHOICES = {
    "--convention": ("in.npz --convention matlab", "in.npz --convention torchreid"),
    "--set": ("in.npz --set top_k=3", "in.npz --set ignored=nothing"),
    "--pool": ("in.npz", "in.npz --pool mean"),
    "--index-lists": ("in.npz --convention oxford --index-lists good0.txt junk.txt",
                      "in.npz --convention oxford --index-lists good1.txt junk.txt"),
    "--n-good": ("lists.txt --labels query.csv gallery.csv",
                 "lists.txt --labels query.csv gallery.csv --n-good n_good.txt"),
    "--protocol": ("in.npz", "in.npz --protocol msmt17"),
    "--part": ("modalities.npz --protocol llcm --part infrared-to-visible",
               "modalities.npz --protocol llcm --part visible-to-infrared"),
    "--trials": ("in.npz --protocol cuhk01 --trials trials0.json",
                 "in.npz --protocol cuhk01 --trials trials1.json"),
    "--shots": ("modalities.npz --protocol sysu-mm01 --part all --trials trials2.json --shots 1",
                "modalities.npz --protocol sysu-mm01 --part all --trials trials2.json --shots 10"),
    "--min-score": (f"{PRW} --protocol prw", f"{PRW} --protocol prw --min-score .9"),
    "--boxes-per-image": (f"{PRW} --protocol prw --boxes-per-image 1",
                          f"{PRW} --protocol prw --boxes-per-image 2"),
}
#: Options that say what the files hold, or what is done with the numbers of all queries.
CHOOSE_NOTHING = {
    "--map", "--labels", "--numbers-from", "--images", "--query-names", "--gallery-names",
    "--metric", "--normalize", "--max-memory", "--threads", "--name", "--measure", "--ranks",
    "--cmc", "--confidence", "--level", "--unit", "--resamples", "--seed", "--confidence-method",
    "--expect", "--tolerance", "--fail-under", "--baseline", "--strict", "--mean", "--per-query",
    "--save", "--at", "--worst", "--by"}


def write_files(folder):
    random = np.random.default_rng(59)
    identity, camera = np.repeat([1, 2, 3, 4], 3), np.tile([1, 2, 3], 4)
    arrays = {"query_identity": identity[:6], "query_camera": camera[:6] % 3 + 1,
              "gallery_identity": identity, "gallery_camera": camera,
              "query_features": random.standard_normal((6, 4)),
              "gallery_features": random.standard_normal((12, 4))}
    np.savez(folder / "in.npz", **arrays, query_tracklet=np.arange(6),
             gallery_tracklet=np.arange(12))
    np.savez(folder / "modalities.npz", **{
        **arrays, "query_camera": np.tile([3, 6], 3), "gallery_camera": np.tile([1, 2, 4], 4)})
    for k in range(2):
        lines = [str(image + 1 + k) for image in range(0, 12, 2)]
        (folder / f"good{k}.txt").write_text("\n".join(lines) + "\n")
        rows = [[[0, 2, 4], [k, 3, 6, 9]], [[1, 3, 5], [k, 4, 7, 10]]]
        (folder / f"trials{k}.json").write_text(json.dumps(rows))
    (folder / "trials2.json").write_text(json.dumps([[None, [0, 3, 6, 9]]]))
    (folder / "junk.txt").write_text("\n" * 6)
    (folder / "n_good.txt").write_text("4\n" * 6)
    (folder / "lists.txt").write_text("1 2 3 4 5 6 7 8 9 10 11 12\n" * 6)
    for side in ("query", "gallery"):
        rows = zip(arrays[f"{side}_identity"], arrays[f"{side}_camera"])
        (folder / f"{side}.csv").write_text("identity,camera\n" + "".join(
            f"{who},{where}\n" for who, where in rows))


def signatures(words, folder):
    answer = command("evaluate", *words.split(), "--json", cwd=folder)
    assert answer.returncode == 0, answer.stderr
    values = json.loads(answer.stdout)
    return [part["signature"] for part in values.get("parts", [values])]


def test_every_option_chooses_or_does_not():
    flags = {field.metadata["flag"] for field in EvaluateRequest.__dataclass_fields__.values()
             if "flag" in field.metadata}
    assert flags == {*CHOICES, *CHOOSE_NOTHING} and not CHOOSE_NOTHING & CHOICES.keys()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("flag", CHOICES)
def test_another_choice_is_another_signature(flag, tmp_path):
    write_files(tmp_path)
    one, other = (signatures(words, tmp_path) for words in CHOICES[flag])
    assert not set(one) & set(other)
