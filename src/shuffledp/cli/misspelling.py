"""Which option was meant where a command has none of the name that was typed."""

from __future__ import annotations

from collections.abc import Sequence

import click

from shuffledp.basics.wording import closest, did_you_mean


def with_guess(error: click.NoSuchOption, typed: Sequence[str]) -> click.NoSuchOption:
    """Return the error with the option as typed, and those that look like it.

    click reads ``-delta`` as the short option ``-d``, and takes ``--n`` for ``--json``.

    Args:
        error: what click says.
        typed: the arguments of the command.
    """
    words = [word.partition("=")[0] for word in typed]
    word = next((word for word in words if word.startswith(error.option_name)), error.option_name)
    context = error.ctx
    options: dict[str, str] = {}
    if context is not None:
        known = (name for p in context.command.get_params(context) for name in p.opts)
        options = {name.lstrip("-"): name for name in known if name.startswith("-")}
    name = word.lstrip("-")
    exact = options.get(name) or options.get(name.lower().replace("_", "-"))
    meant = [exact] if exact else [options[found] for found in closest(name, options)]
    message = f"No such option {word!r}{did_you_mean(meant)}"
    return click.NoSuchOption(word, message=message, ctx=context)
