"""Answers of a sweep in a file, so that a run that was interrupted can be continued."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from shuffledp._version import __version__
from shuffledp.baselines import BASELINES
from shuffledp.comparison.bounds import OURS
from shuffledp.comparison.question import Question, Value
from shuffledp.randomizers import LocalRandomizer
from shuffledp.randomizers.parts import parts_of, without_paths

Values = tuple[Value, ...]


class Kept:
    """Answers to questions in a file, one line each, written as they come.

    An answer counts for the same question asked of the same version, and for no other. Mechanisms
    and bounds of other packages may have changed since: their answers are not kept.

    >>> import tempfile
    >>> from shuffledp import KRR
    >>> question = Question(KRR(k=10, epsilon0=2.0), 1000, "epsilon", 1e-6, ("guarantee",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Kept(Path(folder) / "kept").add(question, (Value(0.27),))
    ...     Kept(Path(folder) / "kept").get(question)
    (Value(number=0.27, reason=None, rtol_reached=True, seconds=0.0),)

    Args:
        path: the file; it need not exist.

    Raises:
        OSError: if there is something that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = dict(_lines(path))

    @classmethod
    def beside(cls, out: Path) -> Kept:
        """Return what was kept for a file that is to appear: in a hidden one beside it.

        >>> Kept.beside(Path("curve.svg"))._path.name
        '.curve.svg.shuffledp-points'
        """
        return cls(out.with_name(f".{out.name}.shuffledp-points"))

    def get(self, question: Question) -> Values | None:
        """Return the answers to a question, if they are known."""
        return self._known.get(_identity(question) or "")

    def add(self, question: Question, values: Values) -> None:
        """Keep the answers to a question.

        Raises:
            OSError: if the file cannot be written.
        """
        identity = _identity(question)
        if identity is None:
            return
        rows = [[one.number, one.reason, one.rtol_reached, one.seconds] for one in values]
        # The line begins with its end: one that was cut off is not continued.
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps([identity, rows], allow_nan=False))

    def clear(self) -> None:
        """Forget all: the work is done."""
        self._path.unlink(missing_ok=True)
        self._known = {}


def _lines(path: Path) -> Iterator[tuple[str, Values]]:
    """Yield what the lines of a file say; a line that was cut off says nothing."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    for line in text.split("\n"):
        try:
            identity, rows = json.loads(line)
            yield str(identity), tuple(Value(*row) for row in rows)
        except (ValueError, TypeError):
            continue


def _identity(question: Question) -> str | None:
    """Return all that decides the answers, as text; None if that is not known."""
    names = question.bounds
    if not (_is_ours(question.randomizer) and all(map(_is_known, names))):
        return None
    try:
        mechanism = str(without_paths(question.randomizer))
    except ValueError:  # a matrix too large to be spelt out
        return None
    given = question.crowd, question.quantity, question.target, names, question.rtol
    return repr((__version__, mechanism, *given, question.rounds, question.view))


def _is_ours(randomizer: LocalRandomizer) -> bool:
    return _is_of_this_package(type(randomizer)) and all(map(_is_ours, parts_of(randomizer)))


def _is_known(bound: object) -> bool:
    return bound in OURS or (isinstance(bound, str) and _is_of_this_package(BASELINES[bound]))


def _is_of_this_package(kind: type) -> bool:
    return kind.__module__.startswith("shuffledp.")
