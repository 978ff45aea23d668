"""The folder of a run: what is finished stays, what is half written never counts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from reproduction.item import Item, Result
from reproduction.settings import Settings
from reproduction.table import Table
from shuffledp._version import __version__
from shuffledp.basics.figures import draw
from shuffledp.basics.whole_file import check_writable, write_whole

REPORT = "report.html"


@dataclass(frozen=True)
class Folder:
    """Where the files of a run are.

    Every item has its numbers in ``NAME.csv`` and, written after them, a record ``NAME.json`` of
    the settings and the version they belong to and of their checksum. An item counts as finished if
    the record fits the settings, the version and the numbers. Pictures are ``NAME.svg``.
    """

    path: Path

    def prepare(self) -> None:
        """Create the folder and find out whether it can be written.

        Raises:
            OSError: if it cannot.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        check_writable(self.path / REPORT)

    def numbers(self, item: Item) -> Path:
        """Return the file of the numbers."""
        return self.path / f"{item.name}.csv"

    def record(self, item: Item) -> Path:
        """Return the file of the record."""
        return self.path / f"{item.name}.json"

    def picture(self, item: Item) -> Path:
        """Return the file of the picture."""
        return self.path / f"{item.name}.svg"

    def load(self, item: Item, settings: Settings) -> Result | None:
        """Return the result if the item is finished, else None."""
        try:
            record = json.loads(self.record(item).read_bytes())
            content = self.numbers(item).read_bytes()
            if (record["identity"], record["version"]) != (_identity(item, settings), __version__):
                return None
            if record["sha256"] != _checksum(content):
                return None
            seconds = {str(part): float(time) for part, time in record["seconds"].items()}
            return Result(Table.from_csv(content.decode()), seconds)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # missing or damaged: to be computed again

    def save(self, item: Item, settings: Settings, result: Result) -> None:
        """Write numbers, then record; an old record goes first, lest it vouch for new numbers."""
        self.record(item).unlink(missing_ok=True)
        self.picture(item).unlink(missing_ok=True)
        content = result.table.to_csv().encode()
        write_whole(self.numbers(item), content)
        record = {
            "name": item.name,
            "version": __version__,
            "identity": _identity(item, settings),
            "sha256": _checksum(content),
            "seconds": result.seconds,
        }
        write_whole(self.record(item), _to_json(record))

    def draw(self, item: Item, result: Result) -> None:
        """Draw the picture of a figure.

        Raises:
            MissingExtraError: if the package that draws is not installed.
        """
        chart = item.chart(result.table)
        if chart is not None:
            draw(chart, self.picture(item))

    def picture_bytes(self, item: Item) -> bytes | None:
        """Return the picture if there is one."""
        try:
            return self.picture(item).read_bytes()
        except OSError:
            return None

    def write_report(self, text: str) -> Path:
        """Write the report and return where it is."""
        path = self.path / REPORT
        write_whole(path, text.encode())
        return path


def _identity(item: Item, settings: Settings) -> object:
    """Return what the numbers depend on as it comes back from JSON."""
    return json.loads(json.dumps(item.identity(settings)))


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _to_json(document: object) -> bytes:
    return json.dumps(document, indent=2, allow_nan=False).encode() + b"\n"
