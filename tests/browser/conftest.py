"""A real headless Chromium; its tests are skipped, with the reason, where there is none."""

import contextlib
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vqa_client.html.page import write_page
from vqa_client.html.serving import ReportServer, ServedPages
from vqa_client.reports.log_reader import file_beside
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MOST_MS = 10_000


@pytest.fixture(scope="module")  # while it runs, its event loop is this thread's: no asynchronous test beside it
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("jinja2", reason="jinja2 (extra html) is not installed")
    with playwright.sync_playwright() as started:
        own = started.chromium.executable_path  # of `playwright install chromium`
        found = next(filter(None, map(shutil.which, (*BROWSERS, own))), None)
        if found is None:
            pytest.skip(f"no Chromium on PATH ({', '.join(BROWSERS)}); `playwright install chromium` brings one")
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page in the browser, with its errors and its requests."""

    def __init__(self, browser: Any, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1200, "height": 900}, **context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(MOST_MS)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.wrong.append(said.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    @property
    def chosen(self) -> str:
        return str(self.page.locator("#detail h3").inner_text())

    @property
    def count(self) -> str:
        return str(self.page.locator("#count").inner_text())

    def until_count(self, beginning: str) -> None:
        """Wait for it as a reader would: the page's policy forbids to evaluate a test in it again and again."""
        self.page.locator("#count", has_text=re.compile(f"^{beginning}")).wait_for()


@pytest.fixture
def opened(chromium: Any) -> Iterator[Opened]:
    made = Opened(chromium)
    yield made
    made.context.close()


@contextlib.contextmanager
def serving(opened: Opened, pages: ServedPages) -> Iterator[str]:
    """Serve pages for as long as the block takes; gives their address."""
    with ReportServer(pages, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.address
        finally:
            opened.page.goto("about:blank")
            server.shutdown()
            thread.join()


def report_of(log: Path) -> str:
    """Write a log's page and give its address."""
    run = read_run(log)
    path = file_beside(log, ".html")
    write_page(path, overview(run))
    return path.resolve().as_uri()
