"""The report is one well-formed page that loads nothing."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from reproduction import ITEMS, Settings, reproduce
from reproduction.claims import Claim
from reproduction.report import Entry, write_report
from reproduction.table import Table

NAMES = ("hierarchy", "krr-large", "hamming-low", "gparv", "decompositions")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    from reproduction import folder

    def draw(chart: object, path: Path) -> None:
        path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "draw", draw)
        outcome = reproduce(NAMES, tmp_path_factory.mktemp("run"), Settings(points=3))
    return outcome.report.read_text(encoding="utf-8")


def tree(text: str) -> ElementTree.Element:
    assert text.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(text.partition("\n")[2])


@pytest.mark.heavy
def test_well_formed(page):
    root = tree(page)
    assert root.tag == "html"
    assert root.get("lang") == "en"
    assert [child.tag for child in root] == ["head", "body"]


def test_loads_nothing(page):
    root = tree(page)
    for element in root.iter():
        assert element.tag not in {"script", "link", "iframe", "object", "embed"}
        for name, value in element.attrib.items():
            if name == "src":
                assert value.startswith("data:image/svg+xml;base64,")
            if name == "href":
                assert value.startswith("#")
            assert not name.startswith("on")
    style = root.find("head/style").text
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"https?://", page)


def test_contents_lead_somewhere(page):
    root = tree(page)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    links = [a.get("href")[1:] for a in root.iter("a")]
    assert links == ["claims", "speed", *(name for name in ITEMS if name in NAMES)]
    assert set(links) <= set(ids)


def test_pictures_have_texts(page):
    images = list(tree(page).iter("img"))
    assert len(images) == 3
    for image in images:
        assert len(image.get("alt")) > 40
        content = base64.b64decode(image.get("src").partition(",")[2])
        ElementTree.fromstring(content)


def test_every_item_says_what_was_found(page):
    articles = list(tree(page).iter("article"))
    assert len(articles) == len(NAMES)
    for article in articles:
        text = " ".join(article.itertext())
        assert "The paper. " in text
        assert "This run" in text
        assert ".csv" in text
        assert article.find(".//table") is not None


def test_states_what_is_missing(page):
    assert "A quick look" in page
    assert "Not computed yet: krr-low" in page
    assert "not measured" in page


def test_the_misprint_is_beside_the_right_row(page):
    text = " ".join(tree(page).itertext())
    assert "misprint" in text
    assert "1/(2(E+1)) - 2/(D(E+1))" in text


def test_text_is_escaped():
    claim = Claim("x", "<script>a & b</script>", ('"quoted" <b>',), "holds")
    text = write_report([], [claim], Settings(), "pip install <x>")
    root = tree(text)
    assert not list(root.iter("script"))
    assert "<script>a & b</script>" in "".join(root.itertext())
    assert "pip install <x>" in "".join(root.itertext())


def test_hostile_cells_and_attributes():
    texts = {"name": "x", "title": '"a" <b>', "place": "table 1", "caption": "c", "paper": "p"}
    item = SimpleNamespace(
        **texts, differences=(), findings=lambda _: ["found"], summary=lambda table: table
    )
    table = Table(("a<b", "n"), (('"><img src=x>', 1234), (None, 0.5)))
    root = tree(write_report([Entry(item, table, {}, b"<svg/>")], [], Settings()))
    (image,) = root.iter("img")
    assert image.get("alt").startswith('"a" <b>. ')
    cells = ['"><img src=x>', "1,234", "no answer", "0.5"]
    assert [td.text for td in root.find(".//article").iter("td")] == cells


def test_items_without_picture_keep_their_caption():
    item = ITEMS["gparv"]
    table = item.compute(Settings(points=2)).table
    text = write_report([Entry(item, table, {}, None)], [], Settings())
    assert item.caption in "".join(tree(text).itertext())
