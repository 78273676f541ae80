"""A real browser for pages:

Debian's Chromium, driven by Playwright, without network; and what every page of ours must do.
"""

import atexit
import contextlib
import functools
import json
import re
import shutil

import pytest

# A name that tries to leave its place.
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">&'\""


@functools.cache
def chromium():
    """The browser, started once per process."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: ./dev setup brings it")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium on the PATH: ./dev setup installs Debian's")
    driver = playwright.sync_playwright().start()
    atexit.register(driver.stop)
    # Without its sandbox, which needs rights that containers and root do not have; it opens our own file only.
    return driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])


@contextlib.contextmanager
def page(width, height=900, origin=None, **context_options):
    """A page of the given width; yields (page, complaints): what its console and its network said.

    A page of a server may ask that: `origin`.
    """
    context = chromium().new_context(viewport={"width": width, "height": height}, offline=origin is None,
                                     **context_options)
    opened, complaints = context.new_page(), []
    opened.on("console",
              lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: None
              if request.url.startswith(("file:", "data:", origin or "file:")) else complaints.append(request.url))
    try:
        yield opened, complaints
    finally:
        context.close()


def show(page, path):
    """Opens the page in that file and waits until it is drawn."""
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=30000, state="attached")


_shown = {}  # by width: the file and the time that it was written, its page, what that said, and what closes it


@contextlib.contextmanager
def shown(path, width):
    """(page, complaints) of the page in that file, drawn.

    It is opened once for all checks of it in a row: who changes it changes it back.
    """
    key = path, path.stat().st_mtime_ns
    if width not in _shown or _shown[width][0] != key:
        if width in _shown:
            _shown.pop(width)[-1].close()
        with contextlib.ExitStack() as stack:
            opened, complaints = stack.enter_context(page(width))
            show(opened, path)
            _shown[width] = key, opened, complaints, stack.pop_all()
    try:
        yield _shown[width][1:3]
    except BaseException:
        _shown.pop(width)[-1].close()
        raise


def with_data(path, data):
    """The text of the page in that file, with another object in it."""
    head, _, rest = path.read_text().partition('id="data">')
    return head + 'id="data">' + json.dumps(data).replace("<", "\\u003c") + rest[rest.index("</script>"):]


def member(data, path):
    for name in path.split("."):
        data = data[int(name)] if isinstance(data, list) else data[name]
    return data


def check_fits(path, width):
    """No complaint, no request, no wider than the window, prose within it, and something drawn on every canvas."""
    with shown(path, width) as (opened, complaints):
        assert complaints == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        ends = opened.eval_on_selector_all("td.wide", "all => all.map(each => each.getBoundingClientRect().right)")
        assert width > 800 or all(end <= width for end in ends), "prose lies outside of the window"
        assert opened.evaluate("""() => [...document.querySelectorAll('canvas')].every(c =>
            c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v !== 0))""")


def check_figures(path, data, expected):
    """Every figure is the member of `data` that it says it is; those expected are among them."""
    with shown(path, 1280) as (opened, _):
        figures = opened.eval_on_selector_all("[data-member]",
                                              "all => all.map(e => [e.dataset.member, Number(e.dataset.value), "
                                              "e.textContent])")
    assert expected <= {name for name, _, _ in figures}
    for name, value, text in figures:
        assert value == pytest.approx(member(data, name), rel=1e-12), name
        assert text not in ("", "NaN", "undefined") and (text != "–" or value == 0), name


def check_name_stays_text(path, title, names):
    """The hostile name is text in the one element among `names` (a selector) that has it."""
    with shown(path, 1280) as (opened, complaints):
        assert opened.title() == title
        assert opened.locator(names, has_text="document.title").text_content() == HOSTILE
        assert opened.locator("img").count() == 0
        assert complaints == []


# Texts of the page and of its charts, but for names from outside (translate=no).
TEXTS = """() => {
    const texts = [];
    const walker = document.createTreeWalker(document.getElementById('page'), NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
        if (!walker.currentNode.parentElement.closest('[translate=no], #language'))
            texts.push(walker.currentNode.textContent);
    for (const canvas of document.querySelectorAll('canvas')) {
        const chart = Chart.getChart(canvas);
        if (!chart) continue;
        texts.push(...chart.data.datasets.map(set => set.label || ''));
        for (const scale of Object.values(chart.options.scales)) texts.push((scale.title && scale.title.text) || '');
    }
    return texts;
}"""
CHINESE = r"[\u4e00-\u9fff]"
# Three words of English in a row are a sentence: names, units and commands have fewer, or capitals, digits and dashes.
ENGLISH = re.compile(r"(?<![\w/.-])[A-Za-z]?[a-z]+ [a-z]+ [a-z]{2,}(?![\w/.-])")
# Half-width punctuation beside Chinese.
HALF_WIDTH = re.compile(rf"{CHINESE} ?[,;:!?](?!\w)|[,;!?]{CHINESE}|{CHINESE}\(|\){CHINESE}")


def check_chinese(path, quoted=()):
    """Switched to Chinese, the page has no English sentence left but for `quoted`, which others wrote; and back
    again."""
    with shown(path, 1280) as (opened, complaints):
        english = opened.locator("h2").all_text_contents()
        opened.click("#language")
        assert opened.evaluate("document.documentElement.lang") == "zh-CN"
        texts = [text for text in opened.evaluate(TEXTS) if not any(part in text for part in quoted)]
        assert sum(bool(re.search(CHINESE, text)) for text in texts) >= 5
        assert [text for text in texts if ENGLISH.search(text)] == []
        assert [text for text in texts if HALF_WIDTH.search(text)] == []
        opened.click("#language")
        assert opened.locator("h2").all_text_contents() == english
        assert complaints == []


def check_paper(path):
    """Dark where the system is; on a sheet of paper light, no wider than it, each chart within its section, nothing
    over anything else."""
    with page(718, 1000, color_scheme="dark") as (opened, complaints):
        show(opened, path)
        assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        opened.emulate_media(media="print")
        opened.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert opened.evaluate("document.documentElement.scrollWidth") <= 718
        boxes = opened.evaluate("""() => [
            ...document.querySelectorAll('#page > *, section > *, .case > *, .halves > *')]
            .filter(each => each.offsetHeight > 0).map(each => {
                const box = each.getBoundingClientRect(), around = each.parentElement.getBoundingClientRect();
                const before = each.previousElementSibling, above = before && before.getBoundingClientRect();
                return {what: each.tagName + '#' + each.id + '.' + each.className,
                        inside: box.left >= around.left - 1 && box.right <= around.right + 1 &&
                                box.bottom <= around.bottom + 1,
                        below: !above || before.offsetHeight === 0 || box.top >= above.bottom - 1 ||
                               box.left >= above.right - 1}})""")
        assert [box for box in boxes if not (box["inside"] and box["below"])] == []
        assert opened.evaluate("""() => [...document.querySelectorAll('canvas')].every(canvas => {
            const box = canvas.getBoundingClientRect(), card = canvas.closest('section').getBoundingClientRect();
            return box.right <= card.right && box.bottom <= card.bottom})""")
        assert complaints == []
