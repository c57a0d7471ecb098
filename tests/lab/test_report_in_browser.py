"""The report in Chromium: search, filters, results compared, figures saved; nothing is requested.

Where Debian's packages `chromium` and `chromium-driver` are not installed, these are skipped.
"""

import json
import re
import shutil
import time

import pytest
from test_report import fill, study_file

from recombine.lab.report import write_report
from recombine.lab.store import Store

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="no Chromium: install chromium and chromium-driver"
    ),
    # Selenium and its pools leave sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
PATIENCE = 30
"""Seconds to wait for what is quick on a machine with nothing else to do."""


class Browser:
    """Chromium, of one width, with or without a touch screen."""

    def __init__(self, site, downloads, width, touch):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--window-size={width},900"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if touch:
            metrics = {"width": width, "height": 844, "pixelRatio": 1, "touch": True}
            options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
        service = webdriver.ChromeService(DRIVER)
        self.driver = webdriver.Chrome(options=options, service=service)
        self.site, self.downloads = site, downloads
        place = {"behavior": "allow", "downloadPath": str(downloads)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", place)

    def open(self, page):
        path, mark, query = page.partition("?")
        self.driver.get((self.site / path).as_uri() + mark + query)

    def run(self, script):
        return self.driver.execute_script(f"return {script}")

    def wait(self, script):
        """Wait until a script gives something true, and return it."""
        end = time.monotonic() + PATIENCE
        while not (found := self.run(script)):
            assert time.monotonic() < end, script
            time.sleep(0.05)
        return found

    def tap(self, selector):
        """Touch the middle of an element."""
        x, y = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();"
            f" return [b.x + b.width / 2, b.y + b.height / 2]; }})"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            event = {"type": kind, "touchPoints": points}
            self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", event)

    def downloaded(self, name):
        path, end = self.downloads / name, time.monotonic() + PATIENCE
        while not path.exists():
            assert time.monotonic() < end, [p.name for p in self.downloads.iterdir()]
            time.sleep(0.05)
        return path

    def trouble(self):
        """Errors on the console, and requests that leave the machine."""
        errors = [e for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        sent = [
            e["params"]["request"]["url"]
            for e in events
            if e["method"] == "Network.requestWillBeSent"
        ]
        assert sent
        return errors + [url for url in sent if not re.match(r"(file|data|blob):", url)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """One's own study at two settings and at smoke, another, and a published one."""
    folder = tmp_path_factory.mktemp("browser")
    with Store.create(folder / "store") as store, pytest.MonkeyPatch.context() as patch:
        names = ["neural-race/xor"]
        patch.setattr("recombine.lab.report._build.published_names", lambda: names)
        reference = study_file(folder, "many")
        fill(store, reference, preset="smoke")
        fill(store, reference, rate=0.5)
        fill(store, reference)
        fill(store, study_file(folder, "other"))
        return write_report(store, folder / "out", published=True).parent


@pytest.fixture(scope="module")
def wide(site, tmp_path_factory):
    browser = Browser(site, tmp_path_factory.mktemp("wide"), 1400, touch=False)
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="module")
def phone(site, tmp_path_factory):
    browser = Browser(site, tmp_path_factory.mktemp("phone"), 390, touch=True)
    yield browser
    browser.driver.quit()


SHOWN = (
    "[...document.querySelectorAll('.card')].filter(e => e.checkVisibility())"
    ".map(e => e.dataset.name)"
)
FITS = "document.documentElement.scrollWidth <= innerWidth"
TRACES = "[...document.querySelectorAll('.plot')[0].data || []].map(t => t.name)"


def choose(browser, field, value):
    """Set one of the fields of the overview as a reader would."""
    browser.driver.execute_script(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event(field.type === 'search' ? 'input' : 'change'));",
        field,
        value,
    )


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_studies_are_searched_filtered_and_sorted(size, request):
    browser = request.getfixturevalue(size)
    browser.open("index.html")
    assert browser.wait("!!document.getElementById('fold').textContent")
    choose(browser, "search", "exclusive-or")
    assert browser.run(SHOWN) == ["neural-race/xor"]
    choose(browser, "search", "")
    choose(browser, "verdict", "fails")
    assert browser.run(SHOWN) == ["family/many", "family/other"]
    choose(browser, "preset", "smoke")
    assert browser.run(SHOWN) == []
    choose(browser, "verdict", "undecided")
    assert browser.run(SHOWN) == ["family/many"]
    choose(browser, "preset", "")
    choose(browser, "verdict", "")
    choose(browser, "family", "family")
    choose(browser, "sort", "date")
    assert set(browser.run(SHOWN)) == {"family/many", "family/other"}
    assert "family=family&sort=date" in browser.run("location.search")
    choose(browser, "family", "goals")
    choose(browser, "verdict", "none")
    assert browser.run(SHOWN) == ["goals/support"]
    assert browser.run(FITS)
    assert browser.trouble() == []


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_two_settings_are_compared(size, request):
    browser = request.getfixturevalue(size)
    browser.open("studies/family/many.html")
    browser.wait(f"({TRACES}).length")
    assert "K = 1" in browser.run(TRACES)
    if size == "phone":
        browser.tap("#chooser input[value='laptop-rate-0-5']")
    else:
        browser.driver.find_elements("css selector", "#chooser input")[1].click()
    browser.wait(f"({TRACES}).some(n => n === 'K = 1 (laptop)')")
    columns = "[...document.querySelectorAll('.measured thead th')].filter(e => !e.hidden).length"
    assert browser.run(columns) == 4
    apart = "document.querySelectorAll('.plots')[1].querySelectorAll('.plot').length"
    assert browser.run(apart) == 2  # heat maps cannot share axes
    names = browser.run(TRACES)
    assert "K = 1 (laptop, rate=0.5)" in names
    same = [name for name in names if "alert" in name]
    assert len(same) == 1  # what is the same at both settings is drawn once
    assert "laptop" not in same[0]
    assert "show=laptop,laptop-rate-0-5" in browser.run("location.search")
    assert browser.run(FITS)
    assert browser.trouble() == []


def test_an_address_says_which_settings_are_shown(wide):
    wide.open("studies/family/many.html?show=smoke")
    boxes = "[...document.querySelectorAll('#chooser input')].map(e => e.checked)"
    assert wide.wait(f"({TRACES}).length && {boxes}") == [False, False, True]
    assert wide.run("document.querySelector('.sheet:not([hidden])').innerText").count("smoke")


def test_a_figure_is_saved_by_touch(phone):
    phone.open("studies/neural-race/xor.html")
    phone.wait(f"({TRACES}).length")
    name = phone.run("document.querySelector('.plots').dataset.name")
    phone.tap("[data-save=svg]")
    assert phone.downloaded(f"{name}.svg").read_text().startswith("<svg")
    phone.tap("[data-save=png]")
    assert phone.downloaded(f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert phone.trouble() == []
