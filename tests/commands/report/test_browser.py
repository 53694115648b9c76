"""The page of two results in a browser: widths, filters, sorting, ignored images, links, print."""
import base64
import re

import pytest

from reid_ref.cli import main
from reid_ref.labels import Labels
from reid_ref.text import percent
from tests.cases import save
from tests.commands.report.seen import parsed
from tests.installed import program, version_of
from tests.nightly import cases

pytestmark = pytest.mark.filterwarnings("ignore")     # those of the driver, too


@pytest.fixture(scope="module")
def browser():
    version_of("selenium")
    binary, driver = program("chromium", "chromium-browser", "google-chrome"), program(
        "chromedriver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options,
                               service=webdriver.ChromeService(executable_path=driver))
    yield started
    started.quit()


@pytest.fixture
def page(browser, made):
    """A function that opens the page at a width; what the console says fails the test."""
    def opened(width=1024, scheme="light", script=True, file=made[0] / "two.html", link=""):
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        browser.get("about:blank")    # else a link in the same page loads nothing
        browser.get(file.as_uri() + link)
        return browser
    yield opened
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert browser.get_log("browser") == []


def find(browser, selector):
    from selenium.webdriver.common.by import By

    return browser.find_elements(By.CSS_SELECTOR, selector)


def shown(browser, selector):
    return [one for one in find(browser, selector) if one.is_displayed()]


def click(browser, element):
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def column(browser, k):
    return [one.text for one in find(browser, f"#queries tbody td:nth-child({k})")]


@pytest.mark.parametrize("scheme", cases(["dark"], ["light", "dark"]))
@pytest.mark.parametrize("width", cases([400], [400, 1024, 1600]))
def test_nothing_is_wider_than_the_page(page, width, scheme):
    browser = page(width, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    outside = browser.execute_script(
        "return Array.from(document.querySelectorAll('p, h1, h2, h3, h4, dl, figure, button, "
        "ol.row > li, ul.key > li')).filter(e => e.getBoundingClientRect().right > "
        "innerWidth + 1 && !e.closest('.scroll, .row')).map(e => e.outerHTML.slice(0, 80))")
    assert outside == []


def test_the_first_figure_is_on_the_first_screen_and_the_last_on_the_fifth(page):
    browser = page(1440)
    tops, bottoms = (browser.execute_script(
        "return Array.from(document.querySelectorAll('figure')).map("
        f"e => e.getBoundingClientRect().{side} + scrollY)") for side in ("top", "bottom"))
    assert len(tops) == 9 and tops[0] < 900 and max(bottoms) <= 5 * 900


def test_pictures_are_drawn(page):
    browser = page()
    boxes = browser.execute_script(
        "return Array.from(document.querySelectorAll('.row .picture svg')).filter("
        "e => e.checkVisibility()).map(e => [e.getBoundingClientRect().width, "
        "e.querySelector('use').getBoundingClientRect().width])")
    assert len(boxes) > 50 and all(box > 30 and use > 30 for box, use in boxes)


def listed(browser):
    """The queries whose lists are shown."""
    return [one.get_attribute("id") for one in shown(browser, "section.query")]


def test_tabs_show_the_queries_of_a_reason_five_at_first(page):
    browser = page()
    for tab in find(browser, "[role=tab]"):
        click(browser, tab)
        assert tab.get_attribute("aria-selected") == "true"
        assert len(find(browser, "[role=tab][aria-selected=true]")) == 1
        count = int(re.search(r"\((\d+)\)", tab.text)[1])
        assert len(listed(browser)) == min(count, 5)
        for button in shown(browser, "#more"):
            assert button.text == f"show {count - 5} more"
            click(browser, button)
        queries = shown(browser, "section.query")
        assert len(queries) == count > 0 and not shown(browser, "#more")
        why = tab.get_attribute("data-why")
        assert why == "all" or all(
            set(why.split(",")) & set(one.get_attribute("data-why").split(",")) for one in queries)
    assert len(queries) == len(find(browser, "section.query")) > 5


def test_gains_and_losses_are_the_first_filter(page, made):
    browser = page()
    assert find(browser, "[aria-selected=true]")[0].text.startswith("gains and losses")
    data = parsed((made[0] / "two.html").read_text())[1]["shown"]
    changed = {f"q{query}" for query in (*data["gain"], *data["loss"])}
    assert set(listed(browser)) <= changed and len(listed(browser)) == min(5, len(changed))
    browser = page(file=made[0] / "one.html")
    assert find(browser, "[aria-selected=true]")[0].text.startswith("all (")


def test_lists_are_searched(page):
    browser = page()
    field, = shown(browser, "#find")
    for words, expected in (("3", {"q3"} | {
            one.get_attribute("id") for one in find(browser, "section.query[data-identity='3']")}),
            ("0005_C2", {one.get_attribute("id") for one in find(
                browser, "section.query[data-name*='0005_c2']")}),
            ("nobody", set())):
        field.clear()
        field.send_keys(words)
        assert set(listed(browser)) == expected, words
        assert len(expected) <= 5 and bool(expected) == (words != "nobody")
    assert find(browser, "#find-count")[0].text.startswith("no list of it here")


def test_a_click_enlarges_a_picture(page):
    browser = page()
    assert not shown(browser, "dialog")
    button = shown(browser, "button.picture")[1]
    click(browser, button)
    dialog, = shown(browser, "dialog")
    name = find(browser, "dialog svg")[0].get_attribute("aria-label")
    assert dialog.text == name and name.endswith(".jpg")
    box = browser.execute_script(
        "return document.querySelector('dialog use').getBoundingClientRect().height")
    assert box > 4 * button.size["height"]
    dialog.click()
    assert not shown(browser, "dialog")


@pytest.mark.nightly
def test_tabs_by_the_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    browser = page()
    first, second, *_ = find(browser, "[role=tab]")
    first.send_keys(Keys.ARROW_RIGHT)
    assert browser.switch_to.active_element == second
    assert second.get_attribute("aria-selected") == "true"
    assert first.get_attribute("tabindex") == "-1"
    second.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert find(browser, "[role=tab]")[-1].get_attribute("aria-selected") == "true"


@pytest.mark.nightly
def test_ignored_images_are_switched_on(page):
    browser = page()
    click(browser, find(browser, "[role=tab]")[-1])
    click(browser, shown(browser, "#more")[0])
    there = len(find(browser, "ol.row > li.ignored"))
    assert there > 10 and shown(browser, "ol.row > li.ignored") == []
    switch, = find(browser, "#show-ignored")
    click(browser, switch)
    assert len(shown(browser, "ol.row > li.ignored")) == there
    background = browser.execute_script(
        "return getComputedStyle(document.querySelector('li.ignored > .picture')).backgroundImage")
    assert "repeating-linear-gradient" in background
    click(browser, switch)
    assert shown(browser, "ol.row > li.ignored") == []


def open_table(browser):
    from selenium.webdriver.support.wait import WebDriverWait

    click(browser, find(browser, "#table summary")[0])
    WebDriverWait(browser, 10).until(lambda _: shown(browser, "#queries tbody tr"))


def test_the_table_has_every_query(page, made, tmp_path):
    """Also 3.125, which Python and JavaScript round to 3.12 and 3.13: one good image, rank 16."""
    save(tmp_path / "x.npz", [[*range(15), 15.5, 20.]], Labels([7], [1]),
         Labels([8] * 15 + [7, 9], [2] * 17))
    assert main(["report", str(tmp_path / "x.npz"), "-o", str(tmp_path / "x.html")]) == 0
    for file in (made[0] / "two.html", tmp_path / "x.html"):
        data = parsed(file.read_text())[1]
        browser = page(file=file)
        assert not find(browser, "#queries td")
        open_table(browser)
        results = list(data.get("results", {"": data}).values())
        for k, row in enumerate(find(browser, "#queries tbody tr")):
            each = [result["per_query"]["queries"][k] for result in results]
            cells = [str(each[0][key]) for key in ("query", "identity", "camera", "n_good",
                                                   "n_junk")]
            for one in each:
                cells += [str(one["first_match"] or "-"), *("-" if one[key] is None else percent(
                    one[key]) for key in ("ap", "inp")), one["status"]]
            assert [cell.text for cell in row.find_elements("css selector", "td")] == [
                *cells, *data["query_names"][k:k + 1]]
    assert cells[6] == "3.12"


def test_the_table_is_sorted(page):
    browser = page()
    open_table(browser)
    heads = find(browser, "#queries th button")
    ap = next(k for k, one in enumerate(heads) if one.text.endswith("AP"))
    before = column(browser, ap + 1)
    click(browser, heads[ap])
    numbers = sorted(float(one) for one in before if one != "-")
    absent = ["-"] * before.count("-")
    assert column(browser, ap + 1) == [f"{one:.2f}" for one in numbers] + absent
    click(browser, heads[ap])
    assert column(browser, ap + 1) == [f"{one:.2f}" for one in numbers[::-1]] + absent
    assert find(browser, "#queries th")[ap].get_attribute("aria-sort") == "descending"
    click(browser, heads[0])
    assert column(browser, 1) == [str(k) for k in range(len(before))]


@pytest.mark.nightly
def test_the_table_is_filtered(page):
    browser = page()
    open_table(browser)
    field, = shown(browser, "#filter")
    identities = column(browser, 2)
    field.send_keys("identity absent")
    rows = shown(browser, "#queries tbody tr")
    assert rows and len(rows) < len(identities)
    assert all("identity absent" in row.text for row in rows)
    assert find(browser, "#filter-count")[0].text == f"{len(rows)} row" + "s" * (len(rows) > 1)


def test_a_link_leads_to_the_list(page):
    browser = page()
    open_table(browser)
    link, target = next((link, target) for link in find(browser, "#queries a") for target in find(
        browser, f"#q{link.text}") if target.get_attribute("hidden"))
    for _ in range(2):
        click(browser, link)    # also once more, after another filter
        assert browser.current_url.endswith(f"#q{link.text}")
        assert target.is_displayed()
        click(browser, find(browser, "[role=tab]")[0])
        assert not target.is_displayed()
    click(browser, link)
    assert target.is_displayed()
    assert find(browser, "[role=tab]")[-1].get_attribute("aria-selected") == "true"
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", target)
    assert -5 <= top < 900


def test_a_link_from_outside_leads_to_a_query(page, made):
    last = find(page(), "section.query")[-1].get_attribute("id")
    browser = page(link=f"#{last}")
    assert last in listed(browser)
    browser = page(file=made[0] / "none.html", link="#q3")   # without lists: to its row
    row, = shown(browser, "#queries tbody tr")
    assert row.text.split()[0] == "3"


@pytest.mark.nightly
def test_everything_can_be_read_without_a_script(page):
    browser = page(script=False)
    assert len(shown(browser, "section.query")) == len(find(browser, "section.query")) > 5
    assert shown(browser, "table.headline span.number") and not shown(browser, "#find")
    assert shown(browser, "[role=tablist]") == []
    switch, = find(browser, "#show-ignored")
    switch.click()
    assert shown(browser, "ol.row > li.ignored")


def test_print(page, made):
    """Ten lists of the filter, no table of queries; black on white, few pages."""
    browser = page(scheme="dark")
    click(browser, find(browser, "[role=tab]")[-1])
    every = len(find(browser, "section.query"))
    pdf = base64.b64decode(browser.print_page())
    assert len(re.findall(rb"/Type\s*/Page[^s]", pdf)) <= 8
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert len(listed(browser)) == min(10, every) > 5
    assert not any(shown(browser, each) for each in ("nav", "#table", "#find"))
    assert [tab.text for tab in shown(browser, "[role=tab]")] == [f"all ({every})"]
    assert browser.execute_script(
        "return getComputedStyle(document.querySelector('figure svg text')).fill"
    ) == "rgb(0, 0, 0)"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_figures_follow_the_theme(page):
    for scheme, colour in (("light", "rgb(31, 35, 40)"), ("dark", "rgb(230, 237, 243)")):
        browser = page(scheme=scheme)
        fills, strokes, grounds = (browser.execute_script(
            f"return Array.from(new Set(Array.from(document.querySelectorAll({where!r})).map("
            f"e => getComputedStyle(e).{style})))") for where, style in (
                ("#figures svg text", "fill"), ("#figures g[id*=xtick] use", "stroke"),
                ("#figures g[id*=patch_1] path", "fill")))
        assert fills == strokes == [colour] and grounds == ["none"], scheme
