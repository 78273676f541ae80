"""A real browser for pages: Debian's Chromium, driven by Playwright, without network; and what every page of ours must do."""

import contextlib
import json
import shutil

import pytest

# A name that tries to leave its place.
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">&'\""


@contextlib.contextmanager
def page(width, height=900, **context_options):
    """A page of the given width; yields (page, complaints): what its console and its network said."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: ./dev setup brings it")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium on the PATH: ./dev setup installs Debian's")
    with playwright.sync_playwright() as driver:
        # Without its sandbox, which needs rights that containers and root do not have; it opens our own file only.
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **context_options)
        opened, complaints = context.new_page(), []
        opened.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url))
        try:
            yield opened, complaints
        finally:
            browser.close()


def show(page, path):
    """Opens the page in that file and waits until it is drawn."""
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=30000, state="attached")


def with_data(path, data):
    """The text of the page in that file, with another object in it."""
    head, _, rest = path.read_text().partition('id="data">')
    return head + 'id="data">' + json.dumps(data).replace("<", "\\u003c") + rest[rest.index("</script>"):]


def member(data, path):
    for name in path.split("."):
        data = data[int(name)] if isinstance(data, list) else data[name]
    return data


def check_fits(path, width):
    """No complaint, no request, no wider than the window, and something drawn on every canvas."""
    with page(width) as (opened, complaints):
        show(opened, path)
        assert complaints == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.evaluate("""() => [...document.querySelectorAll('canvas')].every(c =>
            c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v !== 0))""")


def check_figures(path, data, expected):
    """Every figure is the member of `data` that it says it is; those expected are among them."""
    with page(1280) as (opened, _):
        show(opened, path)
        shown = opened.eval_on_selector_all("[data-member]", "all => all.map(e => [e.dataset.member, Number(e.dataset.value), e.textContent])")
    assert expected <= {name for name, _, _ in shown}
    for name, value, text in shown:
        assert value == pytest.approx(member(data, name), rel=1e-12), name
        assert text not in ("", "NaN", "undefined", "-"), name


def check_name_stays_text(path, title, names):
    """The hostile name is text in the one element among `names` (a selector) that has it."""
    with page(1280) as (opened, complaints):
        show(opened, path)
        assert opened.title() == title
        assert opened.locator(names, has_text="document.title").text_content() == HOSTILE
        assert opened.locator("img").count() == 0
        assert complaints == []


def check_chinese_dark_and_paper(path, heading, text):
    """A Chinese page whose `heading` (a selector) says `text`: dark where the system is, light on paper."""
    with page(1280, color_scheme="dark") as (opened, complaints):
        show(opened, path)
        assert opened.locator(heading).text_content() == text
        assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        opened.emulate_media(media="print")
        assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert complaints == []
