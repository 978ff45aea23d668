"""Questions about the blanket bound, which is enclosed; the default bound encloses the truth."""

from __future__ import annotations

from functools import partial

from shuffledp import ShuffleAccountant, calibrate_epsilon0, required_users

blanket_accountant = partial(ShuffleAccountant, bound="blanket")
blanket_level = partial(calibrate_epsilon0, bound="blanket")
blanket_users = partial(required_users, bound="blanket")
