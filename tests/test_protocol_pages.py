"""The pages of the protocols: one for each, and what their recipes save is what they evaluate."""
import re
from types import SimpleNamespace

import numpy as np
import pytest

import reid_ref
from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.datasets.published import load
from reid_ref.files.layouts import NAMES, ROLES, SET_OF, plain_name
from reid_ref.protocols import PROTOCOLS
from tests.documents import ROOT, command

with pytest.MonkeyPatch.context() as _patch:
    _patch.syspath_prepend(ROOT / "docs")
    import protocol_pages
    import recipes


@pytest.mark.parametrize("name", PROTOCOLS)
def test_page(name):
    page, protocol = protocol_pages.page(name), PROTOCOLS[name]
    spellings = " ".join(BENCHMARKS[protocol.benchmark].spellings)
    assert set(spellings.split()) <= set(re.findall("[a-z0-9]+", page.casefold()))
    for text in (protocol.source, protocol.note, protocol.prepare, f"--protocol {name}",
                 *(f"| part | {part.name}: " for part in protocol.parts)):
        assert text in page
    heads = re.findall(r"^\| ([a-z]+) \| ", page.partition("## From")[0], re.MULTILINE)
    assert set(heads) <= {"follows", "file", "columns", "trials", "shots", "part", "counted",
                          "chosen", "also"}
    published = page.partition("## Published")[2]
    assert published.count("\n| ") == sum(each.protocol == name for each in load()) + (
        2 if published else 0)
    recorded = any(each["given"].get("protocol") == name
                   for these in protocol_pages.recordings().values() for each in these)
    assert ("No recording" in page) == (not protocol.held.recordings and not recorded)


def test_lists():
    """Every protocol and benchmark is on the list."""
    index = protocol_pages.index()
    for name, protocol in PROTOCOLS.items():
        assert f"[{name}]({name}.md)" in index, name
        assert BENCHMARKS[protocol.benchmark].name in index


#: The recipes of toolboxes, which tests/test_docs.py runs.
GUIDE = (ROOT / "docs/files.md").read_text()


class Tensor(np.ndarray):
    """An array with what the recipes call of a tensor."""

    def cpu(self):
        return self

    def t(self):
        return self.T

    def numpy(self):
        return np.asarray(self)


def repository():
    """What the repositories have where the recipes stand: 24 queries, 48 gallery images."""
    rng = np.random.default_rng(0)
    identity = {24: np.arange(24) % 6, 48: np.arange(48) // 8}
    names = {name: rng.random((n, 4)).view(Tensor) for n, those in (
        (24, "query_feat_fc qsf qdf qf qfeats"), (48, "gall_feat_fc gf gfeats"))
        for name in those.split()}
    for n, those in ((24, "query_label qs_pids qd_pids q_pids qids txt_labels"),
                     (48, "gall_label g_pids gids img_labels")):
        names.update(dict.fromkeys(those.split(), identity[n].view(Tensor)))
    batch = {"feats": rng.random((24, 4)).view(Tensor), "pids": identity[24].view(Tensor),
             "camids": (np.arange(24) // 3).view(Tensor)}
    return {**names, "np": np, "torch": SimpleNamespace(
        cat=lambda parts: np.concatenate(parts).view(Tensor)), "nquery": 24, "ngall": 48,
        "query_cam": np.arange(24) // 6 % 2 * 3 + 3, "gall_cam": np.array([1, 2, 4, 5] * 12),
        "distmat7": rng.random((24, 48)), "trial": 0,
        "similarity_all": rng.random((48, 24)).view(Tensor),
        "qs_camids": np.full(24, 1), "qd_camids": np.full(24, 2), "q_camids": np.arange(24) // 12,
        "g_camids": np.zeros(48, int),
        "txt_img_index": np.arange(24) * 2, "test_trial": 1,
        "q_sceneids": np.arange(24) % 3, "g_sceneids": np.arange(48) % 3,
        "q_clothes_ids": np.arange(24) % 2, "g_clothes_ids": np.arange(48) % 2,
        "self": SimpleNamespace(saved=[(rng.random((24, 4)).view(Tensor),
                                        identity[24].view(Tensor))] * 31),
        "gids": identity[48].view(Tensor),
        "evaluator": SimpleNamespace(_predictions=[batch] * 3, _num_query=24)}


@pytest.mark.parametrize("name", [
    name for name, protocol in PROTOCOLS.items()
    if "np.savez(" in protocol.save and protocol.save not in GUIDE])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_recipe(name, tmp_path, monkeypatch):
    """Its arrays have roles, and the page's Python evaluates the file that it saves."""
    folder = tmp_path / "MEVID/CAL"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    (tmp_path / "MEVID/test_track_scale.txt").write_text("a s\nb m\n" * 36)
    (tmp_path / "mevid").mkdir()
    (tmp_path / "mevid/query_IDX.txt").write_text("\n".join(map(str, range(24))))
    recipe, python = re.findall("^```py\n(.*?)^```", protocol_pages.page(name),
                                re.MULTILINE | re.DOTALL)
    exec(recipe, repository())
    file, = folder.iterdir()
    names = [plain_name(array) for array in np.load(file)]
    assert {NAMES[array] for array in names} <= set(ROLES)
    assert len({(NAMES[array], SET_OF.get(array)) for array in names}) == len(names)
    if "read_trials" in python:
        assert len(reid_ref.read(file).query) == 24
    else:
        variables = {}
        exec(python, variables)
        assert set(variables["result"]) == {part.name for part in PROTOCOLS[name].parts}
        means = [part.mAP for part in variables["result"].values()]
        assert 0 < means[0] < 1 and all(0 < mAP < 1 or np.isnan(mAP) for mAP in means)


def test_recipe_of_matlab():
    saved = re.findall(r"'(\w+)'", PROTOCOLS["msmt17"].save.partition("save(")[2])
    assert {NAMES[plain_name(name)] for name in saved} == {
        f"{side}_{column}" for side in ("query", "gallery")
        for column in ("features", "identity", "camera")}


def test_what_to_save():
    """The committed page has the recipe and the command of every protocol in the section that its
    row leads to; `reid-ref protocols NAME` prints the same lines.
    """
    page = (ROOT / "docs/recipes.md").read_text()
    sections = {recipes.anchor(text.partition("\n")[0]): text
                for text in re.split("^## ", page, flags=re.MULTILINE)[1:]}
    rows = re.findall(r"^\| [^|]* \| (.+) \| \[.*\]\(#(.*)\) \|$", page, re.MULTILINE)
    found = {name: sections[anchor] for names, anchor in rows
             for name in names[1:-1].split("`, `")}
    assert set(found) == set(PROTOCOLS)
    for name, protocol in PROTOCOLS.items():
        printed = command("protocols", name).stdout
        lines = re.findall("^```.*?\n(.*?)^```", protocol.save, re.MULTILINE | re.DOTALL)
        assert all(text in found[name] for text in lines), name
        assert all(line in printed for text in lines for line in text.splitlines()), name
        assert lines or "docs/" in printed.partition("\ncommand ")[2] or "\n\nThe file" in printed
        called = " ".join(found[name].split())
        assert f"`{name}`" in called or f"`{recipes.command_line(protocol)}`" in called
        assert f"`{recipes.command_line(protocol, 'NAME').partition(' --protocol')[0]} " in called
