"""The setting that a command line describes, and the file that keeps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from shuffledp.accounting.setting import BOUNDS, Setting
from shuffledp.accounting.sum_view import VIEWS
from shuffledp.basics.errors import MAX_ROUNDS
from shuffledp.basics.wording import counted
from shuffledp.cli.parameters import MECHANISM, USERS, count_or_share, optional, reading, whole

ROUNDS = click.Option(
    ["--rounds", "--times", "rounds"],
    callback=reading(whole("rounds", 1, MAX_ROUNDS)),
    metavar="INTEGER",
    help="How often the same users report, each time with fresh noise and a fresh shuffle: the "
    "answer is about all rounds together. Default: 1.",
)

_AT_MOST = click.Option(
    ["--at-most"],
    callback=reading(whole("at-most", 1, MAX_ROUNDS)),
    metavar="INTEGER",
    help="In how many of the rounds a user takes part, whichever these are. Default: all.",
)

CORRUPTED = click.Option(
    ["--corrupted"],
    callback=reading(count_or_share("corrupted")),
    metavar="NUMBER",
    help="Users whose reports the analyst knows or sets, fixed before the reports are drawn: a "
    "number such as 500, or a share such as 0.05 or 5%. Default: 0.",
)

_CORRUPTED_ADAPTIVELY = click.Option(
    ["--corrupted-adaptively"],
    callback=reading(count_or_share("corrupted-adaptively")),
    metavar="NUMBER",
    help="Users whose reports the analyst learns, besides, and chooses after seeing the shuffled "
    "reports: a number or a share. Default: 0.",
)

VIEW = click.Option(
    ["--view"],
    type=click.Choice(VIEWS),
    help="What the analyst sees: the shuffled multiset of reports, or nothing but their sum, as "
    "after secure aggregation. Default: multiset.",
)

BOUND = click.Option(
    ["--bound"],
    type=click.Choice(BOUNDS),
    help="blanket: the optimal decomposition bound. best: the smaller of that and the swap bound, "
    "which is often within a tenth of a percent of what an attacker attains. Default: best.",
)

_FILE = click.Option(
    ["--setting", "setting_file"],
    metavar="FILE",
    help="Read the setting from a TOML file; what the command line says besides counts instead.",
)

SAVE = click.Option(
    ["--save-setting", "kept"],
    metavar="FILE",
    help="Write the setting that is answered for to a TOML file.",
)

#: The files that keep a setting.
FILES = [_FILE, SAVE]

#: What a setting says besides mechanism and users, and the files that keep it.
CONDITIONS = [ROUNDS, _AT_MOST, CORRUPTED, _CORRUPTED_ADAPTIVELY, VIEW, BOUND, *FILES]

#: All of a setting.
SETTING = [optional(MECHANISM), optional(USERS), *CONDITIONS]

#: The same without the choice of a bound, for commands that show several.
SHOWN = [option for option in SETTING if option is not BOUND]

_FIELDS = (
    "mechanism",
    "n",
    "rounds",
    "at_most",
    "corrupted",
    "corrupted_adaptively",
    "view",
    "bound",
)


def take_setting(options: dict[str, Any]) -> Setting:
    """Take the options of a setting out of those of a command.

    What cannot be read, or does not fit together, is an error of the command line.
    """
    file = options.pop("setting_file")
    given = {name: options.pop(name) for name in _FIELDS if name in options}
    try:
        base = Setting() if file is None else Setting.load(file)
        return replace(base, **{name: value for name, value in given.items() if value is not None})
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def complete(setting: Setting) -> Setting:
    """Return a setting in which nothing is open; another is an error of the command line."""
    if not setting.groups:
        if setting.mechanism is None:
            raise click.UsageError("Missing argument 'MECHANISM': give it, or '--setting'")
        if setting.n is None:
            raise click.UsageError("Missing option '-n' / '--users': give it, or '--setting'")
    return setting


def save_setting(setting: Setting | None, path: str | None) -> None:
    """Keep what was answered for, where a file was named.

    Raises:
        click.UsageError: if there is no one setting.
    """
    if path is None:
        return
    if setting is None:
        raise click.UsageError("'--save-setting' keeps one mechanism and one number of users")
    setting.save(Path(path))


def is_typed(*names: str) -> bool:
    """Whether the command line itself says one of these, and not only a file."""
    ctx = click.get_current_context()
    return any(ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in names)


def refuse(setting: Setting, why: str, *names: str) -> None:
    """Refuse what a command cannot take into account.

    Args:
        setting: what was asked.
        why: what the command is about, in one sentence.
        names: the fields of a setting that must be as usual.
    """
    usual = Setting()
    for name in names:
        if getattr(setting, name) != getattr(usual, name):
            raise click.UsageError(f"{why}: leave out {_said(setting, name)}")


def _said(setting: Setting, name: str) -> str:
    if name == "groups":
        return counted(len(setting.groups), "group")
    return "'--" + name.replace("_", "-") + "'"
