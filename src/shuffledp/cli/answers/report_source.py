"""Where the question of a document comes from: reports, a plan or a certificate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from shuffledp.accounting import Setting
from shuffledp.accounting.sum_view import View
from shuffledp.basics.rounding import written_at_most
from shuffledp.certificates import Certificate, CertificateError
from shuffledp.deployment.files import DataError, Sidecar
from shuffledp.deployment.files.sidecar import read_sidecar, sidecar_path
from shuffledp.deployment.study import StudyDesign
from shuffledp.deployment.study.shuffle import users_of
from shuffledp.deployment.study.study_option import certified
from shuffledp.mechanisms import parse
from shuffledp.outputs.review import Whole


@dataclass(frozen=True)
class Source:
    """What a file says the document is about.

    Attributes:
        setting: what is collected.
        delta: the delta at which epsilon is asked for.
        certificate: a proof that is there already; it has not been checked.
        whole: what these reports are a part of.
    """

    setting: Setting
    delta: float
    certificate: Certificate | None = None
    whole: Whole | None = None


def read_source(name: str, attribute: str | None) -> Source:
    """Return what a file of reports, a plan or a certificate says.

    Args:
        name: the file.
        attribute: of a plan with several shuffles, an attribute of the one that is meant.

    Raises:
        ValueError: if the file cannot be read, or has no guarantee to write about.
    """
    path = Path(name)
    if path.suffix.lower() == ".json" and not sidecar_path(path).exists():
        return _from_json(path, attribute)
    if attribute is not None:
        raise ValueError("--attribute chooses a shuffle of a plan")
    return _from_reports(path)


def _from_reports(path: Path) -> Source:
    try:
        found = read_sidecar(path)
        found.check_file(path)
    except DataError as error:
        raise ValueError(str(error)) from None
    if found.seeded:
        raise ValueError(
            f"{str(path)!r} was made from a seed, so it has no guarantee to write about"
        )
    if found.warnings:
        raise ValueError(f"{str(path)!r} has no guarantee to write about: {found.warnings[0]}")
    setting = Setting(mechanism=found.randomizer(), n=found.n, view=found.view)
    return Source(setting, found.guarantee.delta, whole=_whole(found))


def _whole(sidecar: Sidecar) -> Whole | None:
    """Return what all shuffles of a plan reveal together, if there are several."""
    if sidecar.plan is None:
        return None
    total, design = sidecar.plan["total"], StudyDesign.from_dict(sidecar.plan["design"])
    if len(design.shuffles) == 1:
        return None
    return Whole(len(design.shuffles), total["epsilon"], total["delta"])


def _whole_of(design: StudyDesign) -> Whole | None:
    """Return what all shuffles of a plan reveal together, computed again."""
    shuffles, study = design.shuffles, design.study
    if len(shuffles) == 1:
        return None
    return Whole(len(shuffles), certified(shuffles, study.n, study.delta).epsilon, study.delta)


def _from_json(path: Path, attribute: str | None) -> Source:
    try:
        text = path.read_text(encoding="utf-8")
        layout = json.loads(text).get("format")
    except OSError as error:
        raise ValueError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, AttributeError, RecursionError):
        raise ValueError(f"{str(path)!r} is neither a plan nor a certificate") from None
    if isinstance(layout, str) and layout.startswith("shuffledp certificate"):
        if attribute is not None:
            raise ValueError("--attribute chooses a shuffle of a plan")
        return _from_certificate(path, text)
    return _from_plan(path, attribute)


def _from_certificate(path: Path, text: str) -> Source:
    try:
        proof = Certificate.from_json(text)
    except CertificateError as error:
        raise ValueError(f"{str(path)!r} is not a certificate: {error}") from None
    view: View = "sum" if proof.bound == "exact" else "multiset"
    delta = written_at_most(proof.guarantee.delta)
    mechanism = parse(proof.mechanism, files=False)
    return Source(Setting(mechanism=mechanism, n=proof.n, view=view), delta, proof)


def _from_plan(path: Path, attribute: str | None) -> Source:
    design = StudyDesign.load(path)
    shuffles, study = design.shuffles, design.study
    if attribute is None and len(shuffles) > 1:
        names = ", ".join(", ".join(one.names) for one in shuffles)
        raise ValueError(
            f"{str(path)!r} has {len(shuffles)} shuffles, and a document is about one: choose it "
            f"by --attribute, one of {names}"
        )
    users = users_of(shuffles, study.n)
    for one, n in zip(shuffles, users, strict=True):
        if attribute is None or attribute in one.names:
            setting = Setting(mechanism=one.mechanism, n=n)
            return Source(setting, study.delta, whole=_whole_of(design))
    raise ValueError(f"there is no attribute {attribute!r} in {str(path)!r}")
