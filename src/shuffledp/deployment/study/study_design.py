"""The plan file: what a study runs, in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from shuffledp._version import __version__
from shuffledp.basics.errors import check_epsilon, check_type, check_types
from shuffledp.basics.sealed import seal, unseal
from shuffledp.basics.whole_file import write_whole
from shuffledp.deployment.study.encoding import Encoding, encoding_of
from shuffledp.deployment.study.shuffle import Shuffle, is_shared_out, users_of
from shuffledp.deployment.study.study import Study
from shuffledp.deployment.study.study_option import StudyOption
from shuffledp.mechanisms import Joint, parse
from shuffledp.planning import Prediction

_FORMAT = "shuffledp plan, 2"


@dataclass(frozen=True)
class StudyDesign:
    """What is run: a study, and the mechanisms for its attributes.

    Attributes:
        study: the study.
        strategy: how the attributes are collected.
        shuffles: what is shuffled; together they are about every attribute once.
        epsilon: the certified epsilon at the study's delta for the n that the study expects.
        errors: predicted errors by what they are of, for people: root mean square and that of the
            worst value, for any answers and for those that the study expects.
    """

    study: Study
    strategy: str
    shuffles: tuple[Shuffle, ...]
    epsilon: float
    errors: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        """Check that mechanisms and attributes fit."""
        check_type("study", self.study, Study)
        check_types("shuffles", self.shuffles, Shuffle)
        names = [name for shuffle in self.shuffles for name in shuffle.names]
        if sorted(names) != sorted(a.name for a in self.study.attributes):
            raise ValueError(f"shuffles must be about every attribute once, got {names}")
        for shuffle in self.shuffles:
            if len(shuffle.parts) != len(shuffle.names):
                raise ValueError(
                    f"{shuffle.mechanism} does not read {len(shuffle.names)} attributes"
                )
            if not shuffle.mechanism.relation.replaces_input:
                raise ValueError(
                    f"shuffles must protect all answers of a user, got {shuffle.mechanism}"
                )
            for name, part in zip(shuffle.names, shuffle.parts, strict=True):
                encoding_of(self.study[name], part)
        users_of(self.shuffles, self.study.n)
        for cross in self.study.crosses:
            if not any(self._holds(shuffle, cross) for shuffle in self.shuffles):
                raise ValueError(
                    f"the cross table of {', '.join(cross)} needs one joint report about them"
                )

    @staticmethod
    def _holds(shuffle: Shuffle, cross: tuple[str, ...]) -> bool:
        return isinstance(shuffle.mechanism, Joint) and set(cross) <= set(shuffle.names)

    @property
    def is_shared_out(self) -> bool:
        """Whether every user sends one of the reports only, and all may know which."""
        return is_shared_out(self.shuffles)

    def crosses_in(self, shuffle: Shuffle) -> list[tuple[str, ...]]:
        """Return the cross tables that the reports of a shuffle give."""
        return [cross for cross in self.study.crosses if self._holds(shuffle, cross)]

    @classmethod
    def of(cls, study: Study, option: StudyOption) -> StudyDesign:
        """Return what an option of a plan runs."""
        expected = check_type("option", option, StudyOption).expected.by_name
        errors = {
            name: _errors(worst, expected[name])
            for name, worst in option.predictions.by_name.items()
        }
        return cls(study, option.strategy, option.shuffles, option.epsilon, errors)

    def encodings(self, shuffle: Shuffle) -> list[Encoding]:
        """Return how the answers about the attributes of a shuffle become integers."""
        pairs = zip(shuffle.names, shuffle.parts, strict=True)
        return [encoding_of(self.study[name], part) for name, part in pairs]

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a plan file but for its checksum."""
        return {
            "format": _FORMAT,
            "study": self.study.to_dict(),
            "strategy": self.strategy,
            "shuffles": [
                {
                    "attributes": list(shuffle.names),
                    "mechanism": str(shuffle.mechanism),
                    "share": shuffle.share,
                }
                for shuffle in self.shuffles
            ],
            "guarantee": {"epsilon": self.epsilon, "delta": self.study.delta, "n": self.study.n},
            "predicted_errors": {name: dict(error) for name, error in self.errors.items()},
            "version": __version__,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StudyDesign:
        """Return the design that a plan file describes.

        Raises:
            ValueError: if it is of another format, or contradicts itself.
        """
        try:
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {_FORMAT!r}")
            shuffles = tuple(
                Shuffle(
                    tuple(entry["attributes"]),
                    parse(entry["mechanism"], files=False),
                    entry["share"],
                )
                for entry in content["shuffles"]
            )
            study = Study.from_dict(content["study"])
            guarantee = content["guarantee"]
            errors, strategy = content["predicted_errors"], content["strategy"]
            if not isinstance(errors, Mapping) or not isinstance(strategy, str):
                raise ValueError("its strategy must be a text, and its predicted errors a table")
            epsilon = check_epsilon(guarantee["epsilon"], "epsilon")
            return cls(study, strategy, shuffles, epsilon, errors)
        except KeyError as error:
            raise ValueError(f"it has no {error.args[0]!r}") from None
        except (TypeError, AttributeError) as error:
            raise ValueError(str(error)) from None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan file, complete or not at all.

        Raises:
            OSError: if it cannot be written.
        """
        write_whole(Path(path), seal(self.to_dict()).encode() + b"\n")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> StudyDesign:
        """Read a plan file.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it is something else, damaged, or was changed.
        """
        raw = Path(path).read_bytes()
        try:
            return cls.from_dict(unseal(raw, _FORMAT))
        except ValueError as error:
            raise ValueError(f"{str(path)!r} is not a plan, or was changed: {error}") from None


def _errors(worst: Prediction, expected: Prediction) -> dict[str, float]:
    return {
        "rms_error": worst.rms_error,
        "max_error": worst.max_error,
        "expected_rms_error": expected.rms_error,
        "expected_max_error": expected.max_error,
    }
