"""The site that `.ci/run` built, and REID_REF_SITE names: its search, its width in a browser."""
import json
import os
import re
from pathlib import Path

import pytest

from reid_ref.conventions.records import ALIASES, TOOLBOX_TABLES, procedures_of
from reid_ref.datasets.benchmarks import BENCHMARKS
from tests.nightly import cases

SITE = Path(os.environ.get("REID_REF_SITE", "no site"))
if not SITE.is_dir():
    pytest.skip("no site: .ci/run builds it", allow_module_level=True)


@pytest.fixture(scope="module")
def index():
    text = (SITE / "searchindex.js").read_text()
    return json.loads(text[text.index("{"):text.rindex("}") + 1])


@pytest.fixture(scope="module")
def search(index):
    """Words to the pages that have all of them, as the site's own search finds them: it looks up
    stems, and leaves out numbers, words of two letters, and words such as "of".
    """
    from sphinx.search.en import SearchEnglish

    english = SearchEnglish({})
    stem, left_out = english.stem, english.stopwords

    def pages_of(word):
        found = [index[part].get(stem(word), []) for part in ("terms", "titleterms")]
        return {index["docnames"][page] for pages in found
                for page in ([pages] if isinstance(pages, int) else pages)}

    return lambda name: set.intersection(*(
        pages_of(word) for word in re.findall(r"\w+", name.casefold())
        if len(word) > 2 and not word.isdigit() and word not in left_out))


@pytest.mark.parametrize("name", [
    spelling for benchmark in BENCHMARKS.values()
    for spelling in (benchmark.name, *benchmark.spellings)])
def test_a_benchmark_is_found_by_its_names(search, name):
    assert any(page.startswith("protocols/") for page in search(name))


@pytest.mark.parametrize("name", [*(
    evaluator.name for table in TOOLBOX_TABLES for evaluator in procedures_of(table)), *ALIASES])
def test_a_toolbox_is_found_by_its_names(search, name):
    assert any(page.startswith("conventions/") for page in search(name))


@pytest.mark.parametrize(("name", "page"), [
    ("LTCC", "protocols/ltcc"), ("VehicleID", "protocols/vehicleid"),
    ("SYSU-MM01", "protocols/sysu-mm01"), ("Market-1501", "conventions/matlab"),
    ("Market-1501", "protocols/market1501"),
    ("fast-reid", "conventions/torchreid"), ("TransReID", "conventions/torchreid"),
    ("deep-person-reid", "conventions/torchreid"), ("rerank", "commands/rerank"),
    ("evaluate_protocol", "api/reid_ref.evaluate_protocol"), ("contributing", "contributing"),
    ("deprecation", "versions"), ("pytorch_result.mat", "files")])
def test_a_page_is_found(search, name, page):
    assert page in search(name)


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options)
    yield browser
    browser.quit()


def test_no_page_is_wider_than_the_window_and_no_table_is_cut_on_a_small_laptop(browser):
    n, every = 0, sorted(SITE.resolve().rglob("*.html"))
    generated = [page for page in every if page.parent.name in (
        "api", "protocols", "conventions", "layouts", "commands", "_modules")]
    for page in cases([page for page in every if page not in generated] + generated[::8], every):
        browser.get(page.as_uri())
        for width in (390, 820, 1280, 1440):
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
            wide, cut = browser.execute_script(
                "return [document.documentElement.scrollWidth, "
                "[...document.querySelectorAll('.table-wrapper')]"
                ".map(table => table.scrollWidth - table.clientWidth)]")
            assert wide <= width, page
            if width == 1280:
                assert all(more <= 0 for more in cut), page
                n += len(cut)
    assert n > cases(40, 100)


@pytest.mark.parametrize("name", ["num_query", "q_pids", "distmat"])
def test_the_name_of_an_array_finds_the_page_of_files_first(browser, name):
    browser.get(f"{(SITE.resolve() / 'search.html').as_uri()}?q={name}")
    support = pytest.importorskip("selenium.webdriver.support.wait")
    first = support.WebDriverWait(browser, 20).until(lambda _: browser.execute_script(
        "return document.querySelector('#search-results li a')?.textContent"))
    assert first == "Files"
