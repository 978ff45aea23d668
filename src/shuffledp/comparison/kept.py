"""Answers of a sweep in a file, so that a run that was interrupted can be continued."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

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
    and bounds of other packages may have changed since: their answers are not kept. Every line
    begins with its digest, and one that was damaged says nothing.

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

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._known = dict(_lines(self._path))

    @classmethod
    def beside(cls, out: Path) -> Kept:
        """Return what was kept for a file that is to appear: in a hidden one beside it.

        >>> Kept.beside(Path("curve.svg"))._path.name
        '.curve.svg.shuffledp-points'
        """
        return cls(out.with_name(f".{out.name}.shuffledp-points"))

    def get(self, question: Question) -> Values | None:
        """Return the answers to a question, if they are known."""
        rows = self.read(_identity(question))
        return None if rows is None else tuple(Value(*row) for row in rows)

    def add(self, question: Question, values: Values) -> None:
        """Keep the answers to a question.

        Raises:
            OSError: if the file cannot be written.
        """
        rows = [[one.number, one.reason, one.rtol_reached, one.seconds] for one in values]
        self.write(_identity(question), rows)

    def read(self, identity: str | None) -> Any:
        """Return what was written for an identity; None if that is nothing."""
        return None if identity is None else self._known.get(_digest(identity))

    def write(self, identity: str | None, content: object) -> None:
        """Keep something.

        Args:
            identity: all that decides the content; None if that is not known, and nothing is kept.
            content: what JSON can say.

        Raises:
            OSError: if the file cannot be written.
        """
        if identity is None:
            return
        said = f"{_digest(identity)} {json.dumps(content, allow_nan=False)}"
        # The line begins with its end: one that was cut off is not continued.
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"\n{_digest(said)} {said}")

    def clear(self) -> None:
        """Forget all: the work is done."""
        self._path.unlink(missing_ok=True)
        self._known = {}


def check_kept(kept: object) -> Kept | None:
    """Return what is a file of answers, or None.

    Raises:
        TypeError: if it is something else.
    """
    if kept is not None and not isinstance(kept, Kept):
        raise TypeError(f"kept must be a Kept, such as Kept('answers'), or None, got {kept!r}")
    return kept


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield what the lines of a file say; one that was cut off or changed says nothing."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    for line in text.split("\n"):
        check, _, said = line.partition(" ")
        if check == _digest(said):
            key, _, content = said.partition(" ")
            yield key, json.loads(content)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
    return is_of_this_package(type(randomizer)) and all(map(_is_ours, parts_of(randomizer)))


def _is_known(bound: object) -> bool:
    return bound in OURS or (isinstance(bound, str) and is_of_this_package(BASELINES[bound]))


def is_of_this_package(kind: type) -> bool:
    """Whether a class changes with the version only."""
    return kind.__module__.startswith("shuffledp.")
