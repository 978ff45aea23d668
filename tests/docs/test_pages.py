"""What the pages of the documentation show is what happens."""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiers import EVERY_CASE

import shuffledp
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.cli import main
from shuffledp.mechanisms import COMPOSITIONS, MECHANISMS

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
FENCE = re.compile(r"^```(\{?[\w-]+\}?)[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

#: Pages whose examples take long.
LONG = {
    "choosing",
    "cluster",
    "dp-accounting",
    "ledger",
    "levels",
    "mechanisms",
    "new-mechanism",
    "planning",
    "rounds",
    "study",
}

#: The notebooks, which run when the site is built: how many cells of each show
#: something, and how many pictures and tables there are.
NOTEBOOKS = {
    "notebooks/mechanism": (4, 1, 4),
    "notebooks/rounds": (4, 1, 2),
    "notebooks/study": (9, 3, 4),
}

#: Packages without which the examples of a page cannot run.
NEEDED = {
    "certificates": "flint",
    "cluster": "dask.dataframe",
    "dp-accounting": "dp_accounting",
    "study": "pandas",
}


def blocks(page: str, *languages: str) -> list[tuple[str, str, int]]:
    """Language, text and line of the fenced blocks of a page, in order."""
    return [
        (found.group(1), found.group(2), PAGES[page].count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(PAGES[page])
        if not languages or found.group(1) in languages
    ]


def prose(page: str) -> str:
    """The page without its blocks and literals."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", PAGES[page]))


def commands() -> list[tuple[str, str, str]]:
    """Page, command line and shown output of all console blocks."""
    shown = []
    for page in PAGES:
        for _, block, _ in blocks(page, "console"):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, output = part.partition("\n")
                shown.append((page, line, output))
    return shown


def rounded(text: str) -> str:
    """Numbers of more than ten digits are computed to a relative 1e-4, the default ``rtol``."""
    return re.sub(r"\d+\.\d{10,}", lambda number: f"{float(number.group()):.4g}", text)


def slugs(page: str) -> set[str]:
    """The anchors of the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", FENCE.sub("", PAGES[page]), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_blocks_are_of_known_kinds():
    known = {"python", "pycon", "console", "sh", "text", "{toctree}", "{eval-rst}"}
    known |= {"toml", "{command-reference}"}
    assert {language for page in PAGES for language, _, _ in blocks(page)} <= known
    for page, text in PAGES.items():
        assert len(re.findall(r"^```", text, flags=re.MULTILINE)) == 2 * len(blocks(page))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.heavy if page in LONG else EVERY_CASE)
        for page in PAGES
        if blocks(page, "python", "pycon")
    ],
)
def test_examples(page):
    if page in NEEDED:
        pytest.importorskip(NEEDED[page])
    names: dict[str, object] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for language, text, line in blocks(page, "python", "pycon"):
            if language == "python":
                exec(compile(text, f"{page}.md", "exec", dont_inherit=True), names)  # noqa: S102
                continue
            test = doctest.DocTestParser().get_doctest(text, {}, page, f"{page}.md", line)
            assert test.examples
            test.globs = names
            said = io.StringIO()
            runner = doctest.DocTestRunner(verbose=False)
            failed = runner.run(test, out=said.write, clear_globs=False).failed
            assert not failed, said.getvalue()


@EVERY_CASE
@pytest.mark.parametrize(
    ("page", "line", "output"),
    commands(),
    ids=[f"{page}-{number}" for number, (page, _, _) in enumerate(commands())],
)
def test_commands(page, line, output):
    program, *arguments = shlex.split(line)
    assert program == "shuffledp"
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert rounded(result.stdout.strip()) == rounded(output.strip())


def test_shell_lines_name_real_commands_and_options():
    lines = [
        line for page in PAGES for _, text, _ in blocks(page, "sh") for line in text.splitlines()
    ]
    assert lines
    for line in lines:
        if re.fullmatch(r'pip install "?shuffledp(\[[a-z]+\])?"?', line):
            continue
        program, name, *arguments = shlex.split(line.partition(" > ")[0])
        assert program == "shuffledp"
        known = {option for parameter in main.commands[name].params for option in parameter.opts}
        assert {word for word in arguments if word.startswith("-")} <= known


@EVERY_CASE
@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    for text, target in re.findall(r"(!?\[[^\]]*\])\(([^)\s]+)\)", prose(page)):
        name, _, anchor = target.partition("#")
        if name.endswith((".svg", ".png")):
            assert text.startswith("![")
            assert len(text) > 40, f"{name} needs a text for those who cannot see it"
            assert (DOCS / name).exists()
            continue
        other = name.removesuffix(".md") if name else page
        if other in NOTEBOOKS and not anchor:
            continue
        assert other in PAGES, target
        assert not anchor or anchor in slugs(other), target


def test_every_page_is_in_the_contents():
    listed = [
        line
        for _, text, _ in blocks("index", "{toctree}")
        for line in text.splitlines()
        if line and not line.startswith(":")
    ]
    assert sorted([*listed, "index"]) == sorted([*PAGES, *NOTEBOOKS])


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("collusion", "collusion"),
        ("dropouts", "collusion"),
        ("Prio", "sums"),
        ("secure aggregation", "sums"),
        ("rounds", "rounds"),
        ("GDPR-style statement", "get-started"),
        ("GDPR-style statement", "review"),
    ],
)
def test_what_people_search_for_is_on_its_page(words, page):
    assert words.lower() in " ".join(prose(page).lower().split())


def test_every_picture_is_drawn_and_shown():
    script = (DOCS / "make_pictures.py").read_text(encoding="utf-8")
    table = script.partition("PICTURES: ")[2].partition("\n}")[0]
    drawn = set(re.findall(r'^    "([\w-]+)": ', table, flags=re.MULTILINE))
    shown = {
        name for page in PAGES for name in re.findall(r"\(pictures/([\w-]+)\.svg\)", PAGES[page])
    }
    assert drawn == shown == {path.stem for path in (DOCS / "pictures").glob("*.svg")}


def test_every_mechanism_has_a_section():
    heads = re.findall(r"^### (\w+)$", PAGES["mechanisms"], flags=re.MULTILINE)
    assert heads == [*MECHANISMS, *COMPOSITIONS]


def test_every_public_name_is_in_the_reference():
    names = re.findall(r"^\.\. auto\w+:: shuffledp\.(\w+)$", PAGES["api"], flags=re.MULTILINE)
    assert set(names) >= set(shuffledp.__all__)


@pytest.mark.heavy
def test_first_row_of_the_table_of_compositions():
    sys.path.insert(0, str(DOCS))
    try:
        import make_tables
    finally:
        sys.path.remove(str(DOCS))
    page = PAGES["compositions"]
    assert page.count(make_tables.BEGIN) == page.count(make_tables.END) == 1
    rows = make_tables.rows()
    for _ in range(3):
        assert f"\n{next(rows)}\n" in page


#: What must hold of a page on a phone: nothing is cut off at the right, and pictures are there.
FITS = """
    document.documentElement.scrollWidth <= innerWidth
    && [...document.querySelectorAll("article :not(td, th) > p > *")].every(
        part => part.getBoundingClientRect().right <= innerWidth)
    && [...document.images].every(picture => picture.complete && picture.naturalWidth > 0)
"""


def check_in_a_browser(site: Path) -> None:
    """On a phone every page fits, formulas are set without errors, and nothing is loaded."""
    playwright = pytest.importorskip("playwright.sync_api")
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("no Chromium was found, so pages are not looked at")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in (*PAGES, *NOTEBOOKS):
            page.goto((site / f"{name}.html").as_uri())
            if count := page.locator(".math").count():
                page.evaluate("MathJax.startup.promise.then(() => 1)")
            assert page.locator(".math mjx-container").count() == count, name
            assert page.locator("mjx-merror").count() == 0, name
            assert page.evaluate(FITS), name
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.heavy
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    for package in ("sphinx", "furo", "ipykernel", "myst_nb", "sphinx-mathjax-offline"):
        pytest.importorskip(package)
    arguments = ["-q", "-W", "--keep-going", "-b", "html", "-d", tmp_path / "trees"]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *arguments, DOCS, tmp_path / "html"],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert built.returncode == 0, built.stderr
    for page in (*PAGES, *NOTEBOOKS):
        html = (tmp_path / "html" / f"{page}.html").read_text(encoding="utf-8")
        assert not re.search(r'<(script|img|iframe|source)[^>]*\ssrc="(https?:)?//', html)
        assert not re.search(r'<link[^>]*\shref="(https?:)?//', html)
        assert "merror" not in html
    for style in (tmp_path / "html").rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"""(url\(|@import )\s*["']?(https?:)?//""", text)
    assert (tmp_path / "html" / "_static" / "tex-svg.js").exists()
    check_in_a_browser(tmp_path / "html")
    for notebook, (cells, pictures, tables) in NOTEBOOKS.items():
        html = (tmp_path / "html" / f"{notebook}.html").read_text(encoding="utf-8")
        assert "traceback" not in html
        assert html.count('class="cell_output') == cells
        assert len(re.findall(r'<img[^>]*src="(?:[^"]*_images/|data:image/)', html)) == pictures
        assert html.count("<table") == tables
    commands_page = (tmp_path / "html" / "commands.html").read_text(encoding="utf-8")
    for name in main.commands:
        assert f"shuffledp {name}" in commands_page
