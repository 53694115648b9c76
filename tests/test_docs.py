"""What the pages of docs/ show is what happens; the pages that are computed say what is so."""
import importlib.util
import json
import re
import types

import pytest

import reid_ref
from tests.documents import ROOT, command, run_page
from tests.nightly import cases

PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "api.md")

_SPEC = importlib.util.spec_from_file_location("generated", ROOT / "docs/generated.py")
generated = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(generated)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path):
    text = page.read_text()
    needed = r"(torch|distributed|torchmetrics|pytorch_metric_learning)\b"
    for module in set(re.findall(r"^(?:import|from) (?:reid_ref\.compat\.)?" + needed, text,
                                 re.MULTILINE)):
        pytest.importorskip(module)
    run_page(text, tmp_path, **loaders() if page.stem == "training_loop" else {})


def loaders():
    """Loaders with the keys of torchreid's and fast-reid's batches: 8 queries, 32 gallery."""
    import torch

    images = torch.eye(40, 8)
    labels = torch.arange(40) % 8, torch.arange(40) // 8
    sides = {side: [dict(zip(("img", "pid", "camid"), (images[part], *(
        label[part] for label in labels))))] for side, part in (
            ("query", slice(0, 8)), ("gallery", slice(8, 40)))}
    return {"engine": types.SimpleNamespace(test_loader={"market1501": sides}), "num_query": 8,
            "test_loader": [dict(zip(("images", "targets", "camids"), (images[part], *(
                label[part] for label in labels)))) for part in (slice(0, 16), slice(16, 40))]}


#: The ends of the interval of a difference, and p, on a screen or in a table of a page.
COMPARED = re.compile(r"([+-]\d+\.\d\d) \.\. ([+-]\d+\.\d\d) +(?:\| )?(<?[01](?:\.\d+)?)(?= )")


def test_every_interval_of_a_difference_agrees_with_its_p():
    """0 is in it exactly if p is above .05."""
    shown = [row for page in (*PAGES, ROOT / "README.md")
             for row in COMPARED.findall(page.read_text())]
    assert len(shown) >= 5
    for low, high, p in shown:
        assert (float(low) <= 0 <= float(high)) == (float(p.lstrip("<")) > .05), (low, high, p)


ROWS = re.findall(r"^\| `reid-ref (.*?)` \| (.*?) \|$", (ROOT / "docs/json.md").read_text(),
                  re.MULTILINE)


@pytest.mark.parametrize(("words", "keys"), ROWS, ids=[words for words, _ in ROWS])
def test_keys_of_json(words, keys):
    done = command(*words.split(), cwd=ROOT)
    expected = ["schema", "warnings", *re.findall(r"`([\w-]+)`", keys)]
    assert list(json.loads(done.stdout)) == expected, done.stderr


@pytest.mark.parametrize("name", cases(["matlab", "torchreid", "veri"], reid_ref.CONVENTIONS))
def test_the_page_of_a_convention_has_its_source_and_its_differences(name):
    page = generated.convention_page(name)
    convention = reid_ref.CONVENTIONS[name]
    for text in (convention.source, convention.loader, *convention.differences):
        assert " ".join(text.split()) in page
    assert page.count("\n| ") >= 10 + 1 + 6


# By hand. Kept are wrong, good, distractor (tied with the good one), good: precision 1/2 and 2/4,
# before them 0 and 1/3. simpleir keeps all six: good at 1, 4 and 6.
@pytest.mark.parametrize(("name", "ap", "mAP"), [
    ("matlab", "0.3333", "0.1667"),  # (0 + 1/2 + 1/3 + 2/4) / 4; half of it over two queries
    ("torchreid", "0.5000", "0.5000"),  # (1/2 + 2/4) / 2; the second query is dropped
    ("open-reid", "0.4167", "0.4167"),  # (1/3 + 2/4) / 2
    ("torchreid-function", "0.3667", "0.3667"),  # label -1 is a wrong answer: (1/3 + 2/5) / 2
    ("simpleir", "0.6667", "0.3333"),  # (1 + 2/4 + 3/6) / 3
    ("veri", "0.3333", "NaN"), ("oxford", "0.3333", "NaN"), ("mars", "0.3333", "NaN")])
def test_the_worked_example_of_six_images(name, ap, mAP):
    lines = generated.worked_example(name)
    shown = {cells[1]: cells[2] for cells in (re.split(r" ?\| ?", line) for line in lines[8:])
             if len(cells) > 2}
    assert (shown["AP of the query"], shown["mAP of both queries"]) == (ap, mAP)


def test_the_api_page_has_every_public_name():
    page = generated.api_page()
    for name in set(reid_ref.__all__) - {"CONVENTIONS", "__version__"}:
        assert re.search(rf"^\.\. auto(function|class):: reid_ref\.{name}$", page, re.MULTILINE)
    for room in ("datasets", "files", "matlab", "metric_learning", "distributed"):
        assert f"\n## reid_ref.{room}\n" in page
