"""A real browser for pages: Debian's Chromium, driven by Playwright, without network."""

import contextlib
import shutil

import pytest


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
