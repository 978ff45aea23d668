"""A small study, its rows, and fixed designs for it: no search, so that tests are quick."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shuffledp.deployment.study import Attribute, Shuffle, Study, StudyDesign
from shuffledp.mechanisms import parse

N = 2000
PARTS = {
    "region": "krr(k=4, epsilon0=4.5)",
    "member": "krr(k=2, epsilon0=4.5)",
    "score": "krr(k=5, epsilon0=4.5)",
    "age": "krr(k=6, epsilon0=4.5)",
}


def study(n: int = N, epsilon: float = 20.0, crosses=()) -> Study:
    attributes = (
        Attribute.categories("region", ["north", "south", "west"], missing="leave out"),
        Attribute.yes_no("member"),
        Attribute.categories("score", [1, 2, 3, 4, 5], ordered=True),
        Attribute.number("age", 20, 80, missing="category"),
    )
    return Study(attributes, n, epsilon, 1e-6, crosses)


def design(strategy: str, **options) -> StudyDesign:
    """A design that is private enough for the study."""
    asked = study(crosses=CROSSES.get(strategy, []), **options)
    texts = list(PARTS.values())
    shares = ", ".join(f"0.25*{text}" for text in texts)
    three, last = tuple(PARTS)[:3], tuple(PARTS)[3:]
    joint = f"joint({', '.join(texts[:3])})"
    public = [0.4, 0.25, 0.15, 0.2]
    shuffles = {
        "joint report": [(tuple(PARTS), f"joint({', '.join(texts)})", 1.0)],
        "one attribute per user": [(tuple(PARTS), f"one_of({shares})", 1.0)],
        "separate shuffles": [((name,), text, 1.0) for name, text in PARTS.items()],
        "one public attribute per user": [
            ((name,), text, share)
            for (name, text), share in zip(PARTS.items(), public, strict=True)
        ],
        "joint and separate shuffles": [(three, joint, 1.0), (last, texts[3], 1.0)],
        "one public block per user": [(three, joint, 0.6), (last, texts[3], 0.4)],
    }[strategy]
    made = tuple(Shuffle(names, parse(text), share) for names, text, share in shuffles)
    return StudyDesign(asked, strategy, made, 20.0, {})


CROSSES = {
    "joint report": [("region", "member"), ("score", "region")],
    "joint and separate shuffles": [("region", "member", "score"), ("score", "region")],
    "one public block per user": [("member", "score")],
}

STRATEGIES = [
    "joint report",
    "separate shuffles",
    "one attribute per user",
    "one public attribute per user",
    "joint and separate shuffles",
    "one public block per user",
]


def rows(n: int = N, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(25, 80, n)),
            "id": np.arange(n),
            "score": rng.choice(5, n, p=[0.1, 0.2, 0.3, 0.3, 0.1]) + 1,
            "member": rng.random(n) < 0.3,
            "region": rng.choice(["north", "south", "west", None], n, p=[0.4, 0.3, 0.1, 0.2]),
        }
    )
