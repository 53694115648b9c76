"""Links of the pages lead to files of the repository and to headings, without a site."""
import re
import subprocess

import pytest

import reid_ref
from tests.documents import ROOT

#: Fenced and indented code, and code in a line: what looks like a link in it is none.
CODE = re.compile(r"^(```+).*?^\1$|^(?: {4}[^\n]*\n)+|`[^`\n]+`", re.MULTILINE | re.DOTALL)
#: Targets of links and images, of link definitions, of HTML, and of the site's own images.
TARGET = re.compile(r"\]\(<?([^)\s>]+)|^\[[^]]+\]: (\S+)|\b(?:href|src)=\"([^\"]+)\"",
                    re.MULTILINE)
IMAGE = re.compile(r"^```\{(?:image|figure|include)\} (\S+)", re.MULTILINE)


def repository(root=ROOT):
    """The files of a checkout, without those that git ignores, as pages made for the site."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=root, capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        str(path.relative_to(root)) for path in root.rglob("*")]
    return {path for path in map(root.__truediv__, names) if path.is_file()}


FILES = repository()
PAGES = sorted(path for path in FILES if path.suffix == ".md")


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^(```+).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"\]\([^)]*\)", "", title.casefold())
              for title in re.findall("^#+ (.*)$", text, re.MULTILINE)]
    slugs = [re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles]
    return {slug + f"-{slugs[:k].count(slug)}" * (slug in slugs[:k])
            for k, slug in enumerate(slugs)}


def dead_links(page, files):
    """The relative links of a page that lead to no file of these, or to no heading."""
    text = page.read_text()
    targets = [max(found) for found in TARGET.findall(CODE.sub("", text))]
    dead = []
    for target in targets + IMAGE.findall(text):
        name, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (page.parent / name).resolve() if name else page
        if path not in files and not any(path in file.parents for file in files):
            dead.append(target)
        elif anchor and anchor not in anchors(path.read_text()):
            dead.append(target)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_dead(page):
    assert dead_links(page, FILES) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.is_relative_to(ROOT / "docs")],
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_of_the_site_leads_to_no_page_outside(page):
    """Sphinx stops there."""
    found = TARGET.findall(CODE.sub("", page.read_text()))
    targets = [max(groups).partition("#")[0] for groups in found]
    outside = [target for target in targets if target.endswith(".md") and ":" not in target
               and not (page.parent / target).resolve().is_relative_to(ROOT / "docs")]
    assert outside == []


def test_the_pages_are_checked():
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/index.md", "docs/recipes.md",
            "benchmarks/README.md"} <= names
    assert not any(name.startswith(("docs/protocols/", "docs/api/", ".venv")) for name in names)


def test_a_dead_link_is_found(tmp_path):
    """In a repository with a page that git ignores."""
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("made/\n")
    (tmp_path / "made").mkdir()
    (tmp_path / "made/index.md").write_text("# Made\n")
    (tmp_path / "other.md").write_text(
        "# Other\n\n## A `part`, or two\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text("""# Page

[one](other.md) [two](other.md#a-part-or-two) [three](#page) [four](https://example.org/#no)
[six](other.md#twice-1) [folder](sub) `[code](gone.md)`
[dead file](gone.md) [dead anchor](other.md#gone) [made by
a build](made/index.md) [code's heading](other.md#no-heading) [third](other.md#twice-2)

[definition]: gone.txt

    [code](gone.md)

<img src="gone.svg">

```{image} gone.png
```
""")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/file").write_text("")
    assert dead_links(page, repository(tmp_path)) == [
        "gone.md", "other.md#gone", "made/index.md", "other.md#no-heading", "other.md#twice-2",
        "gone.txt", "gone.svg", "gone.png"]


def test_pages_that_the_package_names_exist():
    """As errors do: "docs/files.md"."""
    named = {(name, str(path.relative_to(ROOT))) for path in FILES
             if path.suffix == ".py" and path.is_relative_to(ROOT / "reid_ref")
             for name in re.findall(r"(?<![\w/.])docs/[\w/-]+\.\w+", path.read_text())}
    assert len(named) >= 5
    assert sorted((name, path) for name, path in named if ROOT / name not in FILES) == []


#: What people look for; docs/index.md has each, with the page and the section.
WORDS = ("similarity matrix", "no cameras", "own data set", "mAP@R", "mAP@k", "leave-one-out",
         "re-ranking", "multi-query", "tracklets", "gait", "vehicle", "animal", "text-to-image",
         "threshold", "FAR", "seeds", "reproduce", "why is my mAP different", "GPU",
         "large gallery")
FOUND = {word: target for words, target in re.findall(
    r"^\| ([^|]+) \| \[[^]]+\]\(([^)]+)\) \|$", (ROOT / "docs/index.md").read_text(), re.MULTILINE)
    for word in words.split(", ")}


def section(target):
    """The text below the heading that a link leads to, or the whole page."""
    name, _, anchor = target.partition("#")
    text = (ROOT / "docs" / name).read_text()
    code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    parts = re.split(r"^(?=#+ )", code.sub("", text), flags=re.MULTILINE)
    return next(part for part in parts if anchor in anchors(part)) if anchor else text


def test_the_front_page_has_the_words_that_people_look_for():
    assert set(WORDS) <= set(FOUND)


@pytest.mark.parametrize("word", [  # mAP@R: as soon as it is a measure
    word for word in FOUND if word != "mAP@R" or word in reid_ref.measures.measure_names()])
def test_a_word_leads_to_a_section_that_has_it(word):
    text = section(FOUND[word]).casefold()
    assert [part for part in word.casefold().split() if part not in text] == []
