"""What the pages of docs/ show is what happens; the pages that are computed say what is so."""
import ast
import inspect
import json
import re
import runpy
import shutil
import subprocess
import sys
import time
import warnings
from decimal import Decimal

import numpy as np
import pytest
from scipy.io import savemat

import reid_ref
from reid_ref.analysis.compare.answer import COLUMNS
from reid_ref.cli.parser import make_parser
from reid_ref.files import LAYOUTS, SEPARATE, Layout
from reid_ref.files.layouts import role_of
from reid_ref.protocols import PROTOCOLS
from tests.documents import ROOT, command, hold, run_page
from tests.installed import absent, version_of
from tests.nightly import cases

PAGES = sorted((ROOT / "docs").glob("*.md"))

with pytest.MonkeyPatch.context() as _patch:
    _patch.syspath_prepend(ROOT / "docs")
    import api_pages
    import command_pages
    import generated
    import layout_pages
    import written
    from man import commands


@pytest.mark.parametrize("page", written.PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path):
    """Its lists are those of the records; its Python and its commands print what it shows."""
    text = page.read_text()
    for module in written.missing(text):
        absent(f"{module} is not installed")
    hold(page.name, text, written.written(page, tmp_path))


def test_a_page_that_differs_is_shown_and_written(tmp_path, monkeypatch, capsys):
    """Lists, screens that are cut and whole, outputs, in a page of each kind."""
    screen = "```console\n$ reid-ref protocols rstpreid\n{}```\n"
    page = tmp_path / "page.md"
    monkeypatch.setattr(written, "PAGES", [page])
    text = (f"[1 such protocols]\n{written_list('')}"
            + "```python\nprint(2)\n```\n\n```text\n3\n```\n```python\nprint(4)\n```\n"
            + screen.format("") + screen.format("old\n...\n"))
    page.write_text(text)
    for argument, status in (("--check", 1), ("", 0), ("--check", 0)):
        monkeypatch.setattr("sys.argv", ["written.py", argument])
        assert written.main() == status
        printed = capsys.readouterr().out
        assert (page.read_text() == text) == (argument == "--check" and status == 1)
        assert ("-old\n" in printed and "run: python docs/written.py" in printed) == bool(status)
    now = page.read_text()
    whole, cut = re.findall(r"^\$ .*\n([^`]*)```", now, re.MULTILINE)
    assert cut == whole.partition("\n")[0] + "\n...\n" and whole.count("\n") > 5
    assert f"[{len(PROTOCOLS)} such protocols]\n{written_list(written.checks())}" in now
    assert "print(2)\n```\n\n```text\n2\n```\n```python" in now
    assert "print(4)\n```\n\n```text\n4\n```\n```console" in now


def written_list(text):
    return f"<!-- list: checks, by docs/written.py -->\n\n{text}\n\n<!-- end -->\n"


def test_the_page_of_the_architecture_names_what_exists():
    page = (ROOT / "docs/architecture.md").read_text()
    assert len(page.split()) <= 1200
    paths = re.findall(r"`((?:reid_ref|tests|fixtures|docs)/[\w./-]+)`", page)
    paths = [path for path in paths if "ROOM" not in path]
    assert len(paths) > 30 and [path for path in paths if not (ROOT / path).exists()] == []
    names = re.findall(r"`(reid_ref/[\w/]+\.py)`,\s+`(\w+)`", page)
    assert len(names) >= 9
    for path, name in names:
        defined = {getattr(node, "name", "") for node in ast.parse((ROOT / path).read_text()).body}
        assert name in defined, (path, name)


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
    if "--evaluator fastreid" in words:
        version_of("fastreid")
    done = command(*words.split(), cwd=ROOT)
    expected = ["schema", "warnings", *re.findall(r"`([\w-]+)`", keys)]
    assert done.stdout, done.stderr
    assert list(json.loads(done.stdout)) == expected, done.stderr


def test_keys_of_a_comparison():
    text = (ROOT / "docs/json.md").read_text().partition("each of `comparisons` has")[2]
    named = re.findall(r"`(\w+)`", text.partition("in `gains`")[0])
    assert named == ["baseline", "system", "metric", *(
        field for column in COLUMNS for field in column.fields)]


@pytest.mark.parametrize("name", cases(["matlab", "torchreid", "veri"], reid_ref.CONVENTIONS))
def test_the_page_of_a_convention_has_its_source_and_its_differences(name):
    page = generated.convention_page(name)
    convention = reid_ref.CONVENTIONS[name]
    for text in (convention.source, convention.loader, *convention.differences,
                 *map(str, convention.also)):
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


def test_the_api_has_a_page_and_a_theme_for_every_public_name():
    names = api_pages.public()
    index = api_pages.index(names)
    assert sorted(" ".join(api_pages.THEMES.values()).split()) == sorted(
        set(reid_ref.__all__) - {"CONVENTIONS", "__version__"})
    for name, value in names.items():
        kind = "class" if inspect.isclass(value) else "function"
        assert f"\n.. auto{kind}:: {name}\n" in api_pages.page(name, value)
        assert f"\n   {name}\n" in index
    for room in ("datasets", "files", "matlab", "metric_learning", "distributed"):
        assert f"\n## reid_ref.{room}\n" in index
    for name in ("torchreid", "fastreid", "transreid", "layumi", "torchmetrics"):
        assert f"(reid_ref.compat.{name}.md)" in index


def test_the_pages_of_functions_describe_the_parameters_that_they_share():
    shared = {}
    for name, value in api_pages.public().items():
        members = vars(value).values() if inspect.isclass(value) else ()
        for item in (value, *filter(inspect.isfunction, members)):
            lines = (inspect.getdoc(item) or "").splitlines()
            if api_pages.SHARED in lines:
                api_pages.describe_shared(None, "", "", item, None, lines)
                shared[f"{name}, {item.__name__}"] = (
                    inspect.signature(item).parameters.keys() - {"self"}
                    - api_pages.described(lines))
    assert len(shared) > 5
    assert not any(shared.values()), shared


def test_modules_that_the_pages_import_load_on_first_use():
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    named = sorted(set(re.findall(r"(?:from|import) reid_ref\.(\w+)", pages)))
    assert {"conventions", "measures", "metrics", "variations"} <= set(named)
    code = "".join(f"import reid_ref; reid_ref.{name}\n" for name in [*named, "thresholds"])
    subprocess.run([sys.executable, "-c", code], check=True)


COMMANDS = commands(make_parser())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_has_all_options_and_an_example(name):
    page = command_pages.page(name, COMMANDS[name])
    options = re.findall(r"--?[a-z][a-z0-9-]*", page)
    assert set(COMMANDS[name]._option_string_actions) <= set(options)
    shown = re.findall(r"^\$ reid-ref (.*) ", page, re.MULTILINE)
    assert shown and shown[0].startswith(name), f"no guide shows a screen of {name}"
    for guide in re.findall(r"\(\.\./(.*?)\)", page):
        assert f"reid-ref {name}" in (ROOT / "docs" / guide).read_text()
    assert f"[{name}]({name}.md)" in command_pages.index()


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_page_of_a_layout_writes_a_file_that_is_read_as_it(name, tmp_path):
    text = layout_pages.page(name)
    hold(f"the page of {name}", text, run_page(text, tmp_path, {}))
    assert f"({name}.md)" in layout_pages.index()


def test_the_page_of_a_layout_of_both_sides(monkeypatch):
    roles = ("features", "identity", "camera", "is_query")
    monkeypatch.setattr(layout_pages, "LAYOUTS", {"both": Layout("", "", {
        role: f"our_{role}" for role in roles})})
    shown = layout_pages.page("both")
    assert [role for role in roles if f"our_{role}=np." not in shown] == []


@pytest.mark.parametrize("name", SEPARATE)
def test_separate_files_are_recognised_by_the_names_on_the_page(name, tmp_path):
    roles = {role_of(file.partition(".")[0]): tmp_path / file
             for file in layout_pages.FILES[name].split()}
    for role, path in roles.items():
        array = eval(layout_pages.SHAPES[role][1], {"np": np})
        if path.suffix == ".mat":
            savemat(path, {role: array.T if array.ndim == 2 else array})
        elif path.suffix == ".npy":
            np.save(path, array)
        else:
            np.savetxt(path, array, "%g")
    assert reid_ref.read(*roles.values()).layout.startswith(SEPARATE[name])
    assert SEPARATE[name] in layout_pages.index()


@pytest.mark.parametrize("example", sorted((ROOT / "docs/examples").glob("*.py")),
                         ids=lambda path: path.stem)
def test_example(example, tmp_path, monkeypatch, capsys):
    """It runs in less than ten seconds, prints what it found, and draws a figure."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    with warnings.catch_warnings():
        runpy.run_path(str(example))
    assert time.process_time() - start < 10
    assert re.search(r"\d\.\d", capsys.readouterr().out)
    assert len(pyplot.get_fignums()) == 1
    pyplot.close("all")


@pytest.mark.parametrize(("example", "calls"), [("page_to_send", 1), ("paper_table", 2)])
def test_an_example_does_not_hide_a_failure(example, calls, tmp_path, monkeypatch):
    """Whichever of its commands fails, it ends there."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.html").write_text("")
    for failing in range(calls):
        codes = iter([0] * failing + [2])
        monkeypatch.setattr("reid_ref.cli.main", lambda _: next(codes))
        with pytest.raises(AssertionError):
            runpy.run_path(str(ROOT / f"docs/examples/{example}.py"))
    source = (ROOT / f"docs/examples/{example}.py").read_text()
    assert len(re.findall(r"\bmain\(", source)) == calls


def git_apply(*options, **more):
    return subprocess.run(["git", "apply", *options, "-"], text=True, **more)


def test_the_diffs_of_contributing(tmp_path):
    """They apply, are short, and do what the page says."""
    shutil.copytree(ROOT / "reid_ref", tmp_path / "reid_ref",
                    ignore=shutil.ignore_patterns("__pycache__"))
    diffs = re.findall(r"^```diff\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(),
                       re.MULTILINE | re.DOTALL)
    assert len(diffs) == 3 and all(diff.count("\n") < 30 for diff in diffs)
    for diff in diffs:
        if git_apply("--reverse", "--check", cwd=tmp_path, input=diff).returncode:  # it is new
            git_apply(cwd=tmp_path, input=diff).check_returncode()
    done = subprocess.run([sys.executable, "-W", "error", "-c", ADDED], cwd=tmp_path, text=True,
                          capture_output=True, env={"PYTHONPATH": str(tmp_path)})
    assert done.stdout == ADDED_PRINTS, done.stderr


ADDED = """
import numpy as np, reid_ref
convention = reid_ref.CONVENTIONS["my-reid"]
print(convention.ap, convention.metric, len(convention.differences))
image, number = np.eye(201), np.arange(1400) % 200
np.savez("a.npz", qx=image[number[:400]], qy=number[:400] + 1, qc=[0] * 400,
         gx=image[[*number[:100], *[200] * 100, *number]],
         gy=[*[0] * 100, *[-1] * 100, *number + 1],
         gc=[*[0] * 200, *number[:200] % 2 + 1, *[0] * 1200])
data = reid_ref.read("a.npz")
print(data.layout)
print(reid_ref.datasets.recognise(data.query, data.gallery).fingerprint.name)
result = reid_ref.evaluate_protocol("My Set", data.query_features, data.gallery_features,
                                    data.query, data.gallery, part="all")
print(result["all"].mAP)
"""
ADDED_PRINTS = """\
step cosine 2
my-reid's dump (features, one row per image), in a .npz file
My-Set
0.75
"""


def drawn(svg):
    """The numbers of a figure of conventions in percent, by name and colour, from its markers."""
    ticks, places = ([(float(x), float(y), label) for x, y, label in re.findall(
        rf'<g id="{axis}tick_.*?" x="([\d.]+)" y="([\d.]+)".*?<!-- (.*?) -->', svg, re.DOTALL)]
        for axis in "xy")
    (x0, _, low), (x1, _, high) = ticks[0], ticks[-1]
    names = {round(y, 2): name.partition(" ")[0] for _, y, name in places}
    return {(names[round(float(y), 2)], colour): float(low) + (float(x) - x0) / (x1 - x0) * (
        float(high) - float(low)) for x, y, colour in re.findall(
            r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill: (#\w+)', svg)
        if round(float(y), 2) in names}


SAVED = ("fixtures/baselines/osnet_x0_25.json.gz", "fixtures/baselines/osnet_x0_25-[flm]*.json.gz")
PICTURE = f"plot conventions {' '.join(SAVED)} --measure mAP --width 4.5in -o"


def test_the_picture_of_the_front_page():
    """It shows the saved results of one network; README and the site describe it alike."""
    saved = [reid_ref.load(path) for pattern in SAVED for path in ROOT.glob(pattern)]
    numbers = {(result.convention.name, "#0072b2"): 100 * result.mAP for result in saved}
    assert len(numbers) == 4
    assert drawn((ROOT / "docs/one_result.svg").read_text()) == pytest.approx(numbers, abs=1e-3)
    words = (f"mAP of one network on Market-1501 under four conventions: from "
             f"{min(numbers.values()):.1f} to {max(numbers.values()):.1f} percent")
    for page in (ROOT / "README.md", ROOT / "docs/index.md"):
        assert words in page.read_text(), page
        assert f"`reid-ref {PICTURE} one_result.svg`" in page.read_text()


def test_the_picture_of_the_front_page_is_drawn_by_the_command_below_it(tmp_path):
    pytest.importorskip("matplotlib")
    words = [path for word in PICTURE.split()
             for path in (sorted(ROOT.glob(word)) if "*" in word else [word])]
    assert command(*words, tmp_path / "one_result.svg", cwd=ROOT).returncode == 0
    again = drawn((tmp_path / "one_result.svg").read_text())
    assert again == pytest.approx(drawn((ROOT / "docs/one_result.svg").read_text()), abs=1e-3)


def test_trapezoid_and_step_differ_as_the_real_networks_do():
    """docs/why_numbers_differ.md has the differences of five networks of docs/baselines.md."""
    folder = ROOT / "fixtures/baselines"
    expected = []
    for name in ("osnet_x0_25", *(f"person-reidentification-retail-{number}"
                                  for number in ("0288", "0287", "0286", "0277"))):
        step = folder / f"{name}{'-fast-reid' * (name == 'osnet_x0_25')}.json.gz"
        step, trapezoid = (Decimal(f"{100 * reid_ref.load(path).mAP:.2f}") for path in (
            step, folder / f"{name}-matlab.json.gz"))
        expected.append((str(step - trapezoid), f"{trapezoid:.0f}"))
    page = " ".join((ROOT / "docs/why_numbers_differ.md").read_text().split())
    sentence = page.partition("on Market-1501 it is ")[2].partition("scikit-learn")[0]
    assert re.findall(r"([01]\.[0-9]{2})[^0-9]+([0-9]{2})\b", sentence) == expected
