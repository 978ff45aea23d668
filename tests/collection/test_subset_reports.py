"""Reports of subset selection hold as many values as the mechanism says."""

from __future__ import annotations

import numpy as np
import pytest

from shuffledp import Aggregator


@pytest.mark.parametrize(
    ("mechanism", "digits"),
    [
        ("subset(epsilon0=1, domain_size=10, size=2)", ["0000", "0700", "0100"]),
        ("subset(epsilon0=1, domain_size=40, size=2)", ["0101", "0501", "0128"]),
        ("subset(epsilon0=1, domain_size=400, size=1)", ["9001"]),
    ],
)
def test_subsets_with_a_wrong_number_of_members(mechanism, digits):
    """A report with more members than it may have would count more than one user."""
    for composed in (mechanism, f"joint({mechanism}, krr(k=2, epsilon0=1))"):
        aggregator = Aggregator(composed)
        for text in digits:
            raw = bytes.fromhex(text) + (b"\0" if composed != mechanism else b"")
            reports = np.frombuffer(raw, dtype=aggregator.randomizer.report_dtype)
            with pytest.raises(ValueError, match=r"different values|below|bits"):
                aggregator.add(reports)
        assert aggregator.n == 0
