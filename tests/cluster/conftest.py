"""One cluster of two worker processes, which talk on the loopback only."""

from __future__ import annotations

import pytest
from breaking import local_cluster

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client
