"""Take the pictures of the local page and of a report: ``python docs/make_screenshots.py``.

Needs playwright, Chromium, and pdftoppm (Debian's poppler-utils).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).with_name("pictures")

#: By picture what is asked, the width and height of the window, and its colours.
PAGES = {
    "explore-find": ("", (1200, 800), "light"),
    "explore-answer": ("?tab=answer&rounds=52&corrupted=2%25", (1200, 940), "light"),
    "explore-dark": ("?tab=curve&bounds=standard_clone,blanket_bennett", (1200, 720), "dark"),
    "explore-phone": ("", (390, 1180), "light"),
}
QUESTION = ["krr(k=10, epsilon0=2)", "-n", "10000", "--delta", "1e-6"]
COVER = ["--title", "Which app?", "--organisation", "An office", "--contact", "ask@example.org"]

COLOURS = 256  # enough for such pictures, and files stay small
DOTS_PER_INCH = 94


@contextmanager
def server() -> Iterator[str]:
    """Serve the page, and yield its address."""
    command = [sys.executable, "-m", "shuffledp", "explore", "--no-browser"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        printed: Any = process.stdout
        try:
            yield printed.readline().split()[0]
        finally:
            process.send_signal(2)


def take_pages(browser: Any) -> None:
    """Take the local page, in several ways."""
    with server() as address:
        for name, (query, (width, height), colours) in PAGES.items():
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme=colours)
            page.goto(address + query)
            page.locator("[aria-busy]").first.wait_for(state="detached", timeout=120_000)
            page.wait_for_timeout(500)
            page.screenshot(path=FOLDER / f"{name}.png")
            page.close()


def take_report(browser: Any) -> None:
    """Print a report, and take its pages."""
    with tempfile.TemporaryDirectory() as folder:
        html, pdf = Path(folder, "report.html"), Path(folder, "report.pdf")
        line = ["report", *QUESTION, *COVER, "--certify", "--out", str(html)]
        subprocess.run([sys.executable, "-m", "shuffledp", *line], check=True)
        page = browser.new_page()
        page.goto(html.as_uri())
        page.pdf(path=pdf, prefer_css_page_size=True, print_background=True)
        page.close()
        prefix = FOLDER / "report"
        subprocess.run(["pdftoppm", "-r", str(DOTS_PER_INCH), "-png", pdf, prefix], check=True)


def shrink(path: Path) -> None:
    """Write a picture again with few colours."""
    from PIL import Image

    with Image.open(path) as image:
        found = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    found.save(path, optimize=True)


def main() -> None:
    """Take all of them."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        take_pages(browser)
        take_report(browser)
        browser.close()
    for path in FOLDER.glob("*.png"):
        shrink(path)


if __name__ == "__main__":
    main()
