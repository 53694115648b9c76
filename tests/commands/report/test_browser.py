"""The page of two results in a browser: widths, tabs, sorting, ignored images, links."""
import pytest

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
    def opened(width=1024, scheme="light", script=True):
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        browser.get((made[0] / "two.html").as_uri())
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
        "innerWidth + 1 && !e.closest('.scroll')).map(e => e.outerHTML.slice(0, 80))")
    assert outside == []


def test_pictures_are_drawn(page):
    browser = page()
    boxes = browser.execute_script(
        "return Array.from(document.querySelectorAll('.row .picture svg')).filter("
        "e => e.checkVisibility()).map(e => [e.getBoundingClientRect().width, "
        "e.querySelector('use').getBoundingClientRect().width])")
    assert len(boxes) > 50 and all(box > 30 and use > 30 for box, use in boxes)


def test_tabs_show_the_queries_of_a_reason(page):
    browser = page()
    every = len(shown(browser, "section.query"))
    for tab in find(browser, "[role=tab]"):
        click(browser, tab)
        assert tab.get_attribute("aria-selected") == "true"
        assert len(find(browser, "[role=tab][aria-selected=true]")) == 1
        queries = shown(browser, "section.query")
        assert tab.text.endswith(f"({len(queries)})")
        why = tab.get_attribute("data-why")
        assert why == "all" or all(why in one.get_attribute("data-why").split(",")
                                   for one in queries)
    assert every == len(find(browser, "section.query")) > len(queries) > 0


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
    there = len(find(browser, "ol.row > li.ignored"))
    assert there > 10 and shown(browser, "ol.row > li.ignored") == []
    switch, = find(browser, "#show-ignored")
    click(browser, switch)
    assert len(shown(browser, "ol.row > li.ignored")) == there
    background = browser.execute_script(
        "return getComputedStyle(document.querySelector('li.ignored > .picture'))"
        ".backgroundImage")
    assert "repeating-linear-gradient" in background
    click(browser, switch)
    assert shown(browser, "ol.row > li.ignored") == []


def test_the_table_is_sorted(page):
    browser = page()
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
    field, = shown(browser, "#filter")
    identities = column(browser, 2)
    field.send_keys("identity absent")
    rows = shown(browser, "#queries tbody tr")
    assert rows and len(rows) < len(identities)
    assert all("identity absent" in row.text for row in rows)
    assert find(browser, "#filter-count")[0].text == f"{len(rows)} rows"


def test_a_link_leads_to_the_list(page):
    browser = page()
    hidden_by = find(browser, "[role=tab]")[-1]
    click(browser, hidden_by)
    link, target = next((link, target) for link in find(browser, "#queries a") for target in find(
        browser, f"#q{link.text}") if not target.is_displayed())
    click(browser, link)
    assert browser.current_url.endswith(f"#q{link.text}")
    assert target.is_displayed()
    assert find(browser, "[role=tab]")[0].get_attribute("aria-selected") == "true"
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", target)
    assert -5 <= top < 900


@pytest.mark.nightly
def test_everything_can_be_read_without_a_script(page):
    browser = page(script=False)
    assert len(shown(browser, "section.query")) == len(find(browser, "section.query")) > 5
    assert shown(browser, "dl.headline dd.number") and shown(browser, "#queries tbody tr")
    assert shown(browser, "[role=tablist]") == []
    switch, = find(browser, "#show-ignored")
    switch.click()
    assert shown(browser, "ol.row > li.ignored")


@pytest.mark.nightly
def test_print_shows_every_list(page):
    browser = page()
    click(browser, find(browser, "[role=tab]")[-1])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert len(shown(browser, "section.query")) == len(find(browser, "section.query"))
    assert shown(browser, "[role=tablist]") == [] and shown(browser, "nav") == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
