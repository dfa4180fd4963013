"""The console in a real browser: by keyboard alone, without scripts too, and by axe-core's rules."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time

import httpx2
import pytest
from helpers.named_folder import named_folder
from helpers.staff_browser import console_folder

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason=f"none of {', '.join(NAMES)} is on PATH: apt-get install chromium"
    ),
]


class Served:
    """A folder served by a process of its own."""

    def __init__(
        self,
        path,
        command="from botorch_private.cli.main import main; main()",
        make=console_folder,
        **options,
    ):
        folder = make(path, **({"max_queries": 30, **options} if make is console_folder else options))
        store = folder.open()
        self.names = [store.identifier(row) for row in range(store.facts.n)]
        self.staff = store.tokens.make("staff", "Ada Okafor").result()
        self._modeler = store.tokens.make("modeler", "M. Odeler").result()
        store.close()
        self.process = subprocess.Popen(
            [sys.executable, "-c", command, "curator", "serve", str(path), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), "the server did not start"

    def ask(self, row):
        """Ask for a row; returns the question."""
        headers = {"Authorization": f"Bearer {self._modeler}", "Idempotency-Key": f"key-of-{row:04d}"}
        answer = httpx2.post(f"{self.address}/v1/queries", json={"row": row}, headers=headers)
        assert answer.status_code in (200, 201)
        return answer.json()

    def measure(self, number, value):
        """Store a value."""
        answer = httpx2.put(
            f"{self.address}/v1/staff/queries/{number}/measurement",
            json={"value": value},
            headers={"Authorization": f"Bearer {self.staff}"},
        )
        assert answer.status_code == 200

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=20)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    names = [f"Patient {1000 + 7 * i}, a name that is as long as some are" for i in range(30)]
    server = Served(tmp_path_factory.mktemp("served") / "folder", identifiers=names)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as playwright:
        # Its sandbox refuses to run as root, which is what containers run as.
        arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(chromium, served, **options):
    """A page that fails the test if anything is fetched from elsewhere, or refused by the browser."""
    with contextlib.closing(chromium.new_context(**options)) as context:
        page = context.new_page()
        page.set_default_timeout(10_000)
        wrong = []
        page.on("request", lambda each: wrong.append(each.url))
        page.on("console", lambda each: wrong.append(each.text))
        yield page
        expected = (served.address, "data:,", "Failed to load resource: the server responded with")
        assert [each for each in wrong if not each.startswith(expected)] == []


def log_in(page, served):
    page.goto(f"{served.address}/console")
    page.wait_for_selector("#token:focus")
    page.keyboard.type(served.staff)
    page.keyboard.press("Enter")
    page.wait_for_url("**/console")


def tab_to(page, text):
    """Press Tab until something with this text has the focus, and can be seen to have it."""
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if focused.count() and focused.inner_text().startswith(text):
            assert focused.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
            return
    raise AssertionError(f"Tab does not reach {text!r}")


def press(page, key, then):
    page.keyboard.press(key)
    page.wait_for_url(then)


@pytest.mark.parametrize(("scripts", "rows"), [(True, (0, 1, 2)), (False, (3, 4, 5))])
def test_a_day_at_the_console_by_keyboard_alone(chromium, served, scripts, rows):
    first, second, third = (served.ask(row)["id"] for row in rows)
    with opened(chromium, served, java_script_enabled=scripts) as page:
        log_in(page, served)
        page.wait_for_selector(f"#value-{first}:focus")
        page.keyboard.type("3,500")
        press(page, "Enter", f"**/questions/{first}")
        page.wait_for_selector("#value:focus")
        assert page.locator("#value-problem").is_visible()
        page.keyboard.press("Control+A")
        page.keyboard.type("3.5")
        press(page, "Enter", "**/confirm")
        assert "3.5 days" in page.locator("dl").inner_text()
        page.wait_for_selector("button:focus")
        press(page, "Enter", f"**/console?done={first}")
        assert "is 3.5 days" in page.locator("[role=status]").inner_text()

        page.wait_for_selector(f"#value-{second}:focus")  # the next one is ready
        page.keyboard.type("350")
        press(page, "Enter", "**/confirm")
        page.wait_for_selector("#looked:focus")
        page.keyboard.press("Enter")  # the box is not ticked: the browser does not send the form
        page.keyboard.press("Space")
        tab_to(page, "Store 350 days")
        press(page, "Enter", f"**/console?done={second}")

        page.wait_for_selector(f"#value-{third}:focus")
        tab_to(page, "Will not be measured")
        press(page, "Enter", "**/refusal")
        page.wait_for_selector("#reason:focus")
        page.keyboard.type("left the ward")
        press(page, "Enter", f"**/console?done={third}")

        tab_to(page, "Skip to the content")
        tab_to(page, "Measured")
        press(page, "Enter", "**/measured")
        tab_to(page, "Correct it")
        press(page, "Enter", f"**/measured/{second}")
        page.wait_for_selector("#value:focus")
        page.keyboard.type("35")
        page.keyboard.press("Tab")
        page.keyboard.type("a digit too many")
        press(page, "Enter", "**/confirm")
        page.wait_for_selector("button:focus")
        press(page, "Enter", f"**/measured/{second}?done=1")
        assert "it was 350 days. a digit too many" in page.locator(".history").inner_text()

        tab_to(page, "Progress")
        press(page, "Enter", "**/progress")
        assert page.locator("svg .dot").count() >= 2
        assert "of 30 measurements are used" in page.locator("main").inner_text()
        tab_to(page, "Log out")
        press(page, "Enter", "**/login?out=1")
    assert served.ask(rows[0])["value"] == 3.5
    assert served.ask(rows[1])["value"] == 35.0
    assert served.ask(rows[2])["state"] == "withdrawn"


def test_the_first_tab_skips_to_the_content(chromium, served):
    with opened(chromium, served) as page:
        log_in(page, served)
        page.goto(f"{served.address}/console/progress")
        page.keyboard.press("Tab")
        assert page.locator(":focus").inner_text() == "Skip to the content"
        page.keyboard.press("Enter")
        page.wait_for_selector("main:focus")


def test_a_double_click_and_the_back_button_store_a_value_once(chromium, served):
    number = served.ask(6)["id"]
    with opened(chromium, served) as page:
        log_in(page, served)
        page.fill(f"#value-{number}", "3")
        page.keyboard.press("Enter")
        page.wait_for_url("**/confirm")
        page.dblclick("text=Store 3 days")
        page.wait_for_url(f"**/console?done={number}")
        page.go_back()
        assert "is settled already" in page.locator("h1").inner_text()
    assert served.ask(6)["value"] == 3.0


def test_a_page_elsewhere_can_neither_send_a_form_nor_show_the_console(chromium, served):
    number = served.ask(7)["id"]
    with contextlib.closing(chromium.new_context()) as context:
        page = context.new_page()
        log_in(page, served)
        target = f"{served.address}/console/questions/{number}/measurement"
        trap = (
            f'<form method="post" action="{target}"><input name="value" value="1"><button>Win</button>'
            f'</form><iframe src="{served.address}/console"></iframe>'
        )
        page.route(
            "http://elsewhere.test/", lambda route: route.fulfill(body=trap, content_type="text/html")
        )
        page.goto("http://elsewhere.test/")
        assert page.frames[-1].url.startswith("chrome-error:")
        page.click("text=Win")
        page.wait_for_url("**/login?ended=1")  # the cookie stays at home
    assert served.ask(7)["state"] == "pending"


def send_sheet(page, served, text):
    page.goto(f"{served.address}/console/sheet")
    page.set_input_files(
        "#sheet", {"name": "values.csv", "mimeType": "text/csv", "buffer": text.encode()}
    )
    with page.expect_navigation():
        page.click("button:has-text('Look at it')")


def test_a_hundred_values_of_a_sheet_are_entered_in_three_steps_and_seconds(chromium, tmp_path):
    names = [f"MRN-{i:04d}" for i in range(100)]
    served = Served(tmp_path / "folder", identifiers=names, max_queries=None)
    try:
        for row in range(100):
            served.ask(row)
        text = "identifier;value\n" + "".join(f"{name};{i},5\n" for i, name in enumerate(names))
        viewport = {"width": 390, "height": 800}  # a phone's
        with opened(chromium, served, java_script_enabled=False, viewport=viewport) as page:
            log_in(page, served)
            began = time.monotonic()
            page.click("text=Sheet")
            page.select_option("#decimal", ",")
            page.set_input_files(
                "#sheet", {"name": "values.csv", "mimeType": "text/csv", "buffer": text.encode()}
            )
            page.click("button:has-text('Look at it')")
            page.click("text=Store 100 values")
            assert "stored: 100 new values" in page.locator("[role=status]").inner_text()
            assert time.monotonic() - began < 60
        for row in range(100):
            assert served.ask(row)["value"] == names.index(served.names[row]) + 0.5
    finally:
        served.stop()


def test_a_worklist_is_printed_with_boxes_to_sign_and_nothing_else(chromium, served):
    served.ask(10)
    with opened(chromium, served, java_script_enabled=False) as page:
        log_in(page, served)
        page.goto(f"{served.address}/console/worklist")
        page.emulate_media(media="print")
        for away in ("nav", ".who", ".screen", ".skip"):
            assert not page.locator(away).first.is_visible()
        row = page.locator(".worklist tr", has_text=served.names[10])
        boxes = [each.bounding_box() for each in row.locator("td.blank").all()]
        assert len(boxes) == 3
        assert all(box["width"] > 90 and box["height"] > 30 for box in boxes)
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_two_people_share_the_queue_by_keyboard(chromium, served):
    number = served.ask(11)["id"]
    with opened(chromium, served, java_script_enabled=False) as page:
        log_in(page, served)
        page.focus("#find")
        page.keyboard.type(served.names[11].upper()[:12])
        press(page, "Enter", "**/console?find=*")
        page.wait_for_selector(f"#value-{number}")
        tab_to(page, "Take it, day, note")
        press(page, "Enter", "**/arrangement")
        tab_to(page, "Take it")
        press(page, "Enter", "**/console?find=*")
        assert "Taken by you, until" in page.locator("main").inner_text()
        page.goto(f"{served.address}/console?view=mine")
        assert page.locator("input.value[name=value]").count() == 1
        tab_to(page, "Give it back")
        with page.expect_navigation():  # to the address where it is already
            page.keyboard.press("Enter")
        assert page.locator("input.value[name=value]").count() == 0


def test_a_date_and_an_instrument_are_typed_and_corrected_by_keyboard(chromium, served):
    number = served.ask(12)["id"]
    with opened(chromium, served, java_script_enabled=False) as page:
        log_in(page, served)
        page.goto(f"{served.address}/console/questions/{number}")
        page.wait_for_selector("#value:focus")
        page.keyboard.type("3.5")
        tab_to(page, "Date, instrument, comment")
        page.keyboard.press("Enter")
        page.focus("#instrument")
        page.keyboard.type("scale 3")
        page.keyboard.press("Tab")
        page.keyboard.type("fasting")
        press(page, "Enter", "**/confirm")
        assert "scale 3" in page.locator("dl").inner_text()
        page.wait_for_selector("button:focus")
        press(page, "Enter", f"**/console?done={number}")
        page.goto(f"{served.address}/console/measured/{number}")
        page.fill("#instrument", "scale 4")
        page.fill("#day", "2020-01-02")
        page.focus("#reason")
        page.keyboard.type("misread")
        press(page, "Enter", "**/confirm")
        page.wait_for_selector("button:focus")
        press(page, "Enter", f"**/measured/{number}?done=1")
        history = page.locator(".history").inner_text()
        assert "instrument scale 4, comment fasting; it was 3.5 days, instrument scale 3" in history
        assert page.locator("main p").filter(has_text="Date: 2020-01-02").count() == 1
    assert served.ask(12)["value"] == 3.5


def visited(page, served, number):
    """All pages in turn, also those that say what went wrong."""
    console = f"{served.address}/console"

    def at(path):
        page.goto(f"{console}{path}")
        return path

    def sent(path, **fields):
        at(path)
        for name, value in fields.items():
            page.fill(f"#{name}", value)
        with page.expect_navigation():
            page.locator("main form button").first.click()
        return f"{path} sent"

    page.goto(f"{console}/login")
    yield "/login"
    yield sent("/login", token="bop_wrong")
    log_in(page, served)
    for path in (
        "",
        "/measured",
        "/progress",
        "/sheet",
        "/worklist",
        "?view=mine&find=Pat",
        "?find=nobody",
        f"/questions/{number}",
        f"/questions/{number}/arrangement",
        f"/questions/{number}/refusal",
        "/x",
    ):
        yield at(path)
    at(f"/questions/{number}")
    page.evaluate("document.querySelector('details').open = true")
    yield "date, instrument and comment"
    page.fill("#value", "350")
    page.fill("#instrument", "i" * 500)
    page.fill("#comment", "a comment " * 50)
    page.click("text=Enter")
    yield "a confirmation of all that can be said"
    at(f"/questions/{number}")
    page.fill("#instrument", "")
    page.evaluate("document.querySelector('#comment').removeAttribute('maxlength')")
    page.fill("#comment", "c" * 501)
    page.click("text=Enter")
    yield "a comment that is too long"
    page.fill("#comment", "")
    page.fill("#value", "3")
    page.click("text=Enter")
    yield sent(f"/questions/{number}", value="3,500")
    yield sent(f"/questions/{number}", value="350")
    yield sent(f"/questions/{number}/refusal")
    yield sent(f"/questions/{number}/arrangement")
    at(f"/questions/{number}/arrangement")
    page.fill("#note", "n" * 501)
    page.click("text=Keep day and note")
    yield "a note that is too long"
    for name, text in (
        ("a sheet to store", f"identifier;value\n{served.names[8]};3\n"),
        ("a sheet of doubts", f"identifier;value\n{served.names[8]};300\n"),
        ("a sheet that nobody asks for", f"identifier;value\n{served.names[29]};3\n"),
        ("a sheet that is refused", f"identifier;value\nnobody;3\n{served.names[8]};x\n"),
        ("no sheet", "a,b\n"),
    ):
        send_sheet(page, served, text)
        yield name
        if "nobody" in name:
            with page.expect_navigation():
                page.click("text=Keep them until somebody asks")
            yield "a sheet that is kept"
    at("/sheet")
    page.evaluate("document.querySelector('details').open = true")
    yield "how a sheet is written"
    settled = int(re.search(r"/measured/(\d+)", page.goto(f"{console}/measured").text())[1])
    yield at(f"/measured/{settled}")
    yield sent(f"/measured/{settled}", value="x", reason="")
    yield sent(f"/measured/{settled}", value="77", reason="typo")
    page.click("main form button")
    at(f"/measured/{settled}")
    page.evaluate("document.querySelector('details').open = true")
    page.fill("#day", "2020-01-02")
    page.fill("#instrument", "a scale whose name is as long as some are, number 12")
    page.fill("#comment", "x" * 400)
    page.fill("#reason", "what was said of it was forgotten")
    page.click("text=Correct it")
    yield "a correction of what is said about a value"
    page.click("main form button")
    yield "a value with date, instrument and comment"
    yield at("/measured")
    yield at(f"/questions/{settled}")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_every_page_is_accessible_and_fits(chromium, served, scheme, width):
    """320 pixels are what 400 % zoom leaves of 1280."""
    number = served.ask(8)["id"]
    served.ask(9)
    served.measure(served.ask(20 + (width < 400))["id"], 5.0)
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with opened(chromium, served, **options) as page:
        check_pages(page, visited(page, served, number))


def check_pages(page, places):
    """Have axe-core look at each page, and whether it fits."""
    for place in places:
        found = axe.Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
        assert found.violations_count == 0, f"{place}: {found.generate_report()}"
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{place} is {over} pixels too wide"
        assert page.title()
        assert page.evaluate("document.documentElement.lang") == "en"


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A server of records with a cost and a safety."""
    server = Served(tmp_path_factory.mktemp("named") / "folder", make=named_folder)
    yield server
    server.stop()


def test_several_outcomes_are_typed_in_parts_on_a_phone_and_corrected_by_keyboard(chromium, named):
    number = named.ask(0)["id"]
    view = {"width": 390, "height": 800}
    with opened(chromium, named, java_script_enabled=False, viewport=view) as page:
        log_in(page, named)
        page.wait_for_selector(f"#value-{number}-1:focus")
        page.keyboard.type("3,5")
        press(page, "Enter", f"**/questions/{number}")
        page.wait_for_selector("#value-2:focus")  # the one that is still to be measured
        assert "safety is still to be measured" in page.locator(".origin").inner_text()
        assert named.ask(0)["state"] == "pending"
        page.keyboard.type("0,9")
        press(page, "Enter", "**/confirm")
        page.wait_for_selector("button:focus")
        press(page, "Enter", f"**/console?done={number}")
        assert "is cost 3.5 EUR, safety 0.9." in page.locator("[role=status]").inner_text()
        page.goto(f"{named.address}/console/measured/{number}")
        page.wait_for_selector("#value-1:focus")
        page.keyboard.press("Tab")
        page.keyboard.type("0.95")
        page.keyboard.press("Tab")
        page.keyboard.type("misread")
        press(page, "Enter", "**/confirm")
        page.wait_for_selector("button:focus")
        press(page, "Enter", f"**/measured/{number}?done=1")
        assert "it was cost 3.5 EUR, safety 0.9. misread" in page.locator(".history").inner_text()
    assert named.ask(0)["value"] == {"cost": 3.5, "safety": 0.95}


def visited_of_several(page, served, number, settled):
    """The pages that have other fields, columns or words where records have several outcomes."""
    console = f"{served.address}/console"
    log_in(page, served)
    at = f"{console}/questions/{number}"
    for address in (f"{console}/progress", console, f"{console}/worklist", f"{console}/sheet", at):
        page.goto(address)
        yield address
    for fields in (
        {"value-1": "3"},
        {"value-1": "1,500", "value-2": ""},
        {"value-1": "300", "value-2": "1"},
    ):
        page.goto(at)
        for name, text in fields.items():
            page.fill(f"#{name}", text)
        with page.expect_navigation():
            page.click("main form button")
        yield f"typed: {fields}"
    page.goto(console)
    yield "what was typed and not stored"
    send_sheet(page, served, f"identifier,cost,safety\n{served.names[1]},300,1\n")
    yield "a sheet of doubts"
    page.goto(f"{console}/measured")
    yield "measured"
    page.goto(f"{console}/measured/{settled}")
    page.fill("#value-1", "x")
    page.fill("#reason", "typing")
    with page.expect_navigation():
        page.click("main form button")
    yield "a correction that cannot be read"
    page.fill("#value-1", "4")
    with page.expect_navigation():
        page.click("main form button")
    yield "a correction to be confirmed"
    page.goto(f"{console}/questions/{settled}")
    yield "settled"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_every_page_of_several_outcomes_is_accessible_and_fits(chromium, named, scheme, width):
    number, settled = named.ask(1)["id"], named.ask(2 + (width < 400))["id"]
    named.measure(settled, {"cost": 3.25, "safety": 0.96})
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with opened(chromium, named, **options) as page:
        check_pages(page, visited_of_several(page, named, number, settled))


@pytest.fixture
def hasty(tmp_path):
    """A console that looks for news every second."""
    code = (
        "from botorch_private.curator.service.console import news; news.REFRESH_SECONDS = 1; "
        "from botorch_private.cli.main import main; main()"
    )
    server = Served(tmp_path / "hasty", command=code)
    yield server
    server.stop()


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("width", [1200, 360])
def test_news_come_by_themselves_and_what_is_typed_stays(chromium, hasty, width, scripts):
    view = {"width": width, "height": 800}
    with opened(chromium, hasty, java_script_enabled=scripts, viewport=view) as page:
        log_in(page, hasty)
        page.get_by_text("Nothing waits to be measured").wait_for()
        hasty.ask(0)
        field = page.locator("input.value[name=value]").first
        field.wait_for()  # the empty queue loaded itself
        assert page.locator(":focus").get_attribute("name") == "value"
        page.keyboard.type("12.")
        frame = page.frame_locator("iframe.news")
        frame.get_by_text("No question is new").wait_for()
        hasty.ask(1)
        frame.get_by_text("1 new question").wait_for()
        page.wait_for_timeout(2500)  # it is counted again, and again
        assert field.input_value() == "12."
        page.keyboard.type("5")  # the field has the focus still
        assert field.input_value() == "12.5"
        if scripts:
            found = axe.Axe().run(page, options={"runOnly": RULES})
            assert found.violations_count == 0, found.generate_report()
            box = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert box
            inner = page.frames[1].evaluate("document.documentElement.scrollHeight")
            assert inner <= page.locator("iframe.news").bounding_box()["height"]
        frame.get_by_role("link", name="Look at it").click()
        page.get_by_text("2 records are asked for").wait_for()
