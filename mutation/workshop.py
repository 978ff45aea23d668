"""A copy of the project in which one module at a time is changed and tested."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/shuffledp")

_HEAVY = ("numpy", "scipy.special", "scipy.stats", "mpmath", "flint", "hypothesis", "pytest")
_OPTIONS = ["-x", "-q", "--tb=short", "--heavy"]
_OPTIONS += [f"-pno:{plugin}" for plugin in ("cacheprovider", "xdist", "benchmark", "cov")]
_BROKEN = 70  # exit code of a run that failed outside of the tests


class Workshop:
    """Runs tests on changed modules, each time in a fork of this process.

    Heavy packages are imported once; a fork imports only the project, from the copy. The process
    itself must not have imported it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.clock = 0
        self.limits: dict[tuple[str, ...], float] = {}
        for name in ("src", "tests", "docs"):
            ignored = shutil.ignore_patterns("__pycache__", "_build")
            shutil.copytree(ROOT / name, self.folder / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, self.folder)
        for name in _HEAVY:
            importlib.import_module(name)
        gc.freeze()  # so that forks do not copy what they only look at

    def fails(self, module: str, source: str, tests: Sequence[str]) -> bool:
        """Whether the tests fail, or take too long, with another source text of a module."""
        limit = self._limit(tests)
        path = self.folder / PACKAGE / module
        original = path.read_text(encoding="utf-8")
        self._write(path, source)
        try:
            return self._run(tests, limit) != 0
        finally:
            self._write(path, original)

    def _write(self, path: Path, source: str) -> None:
        """Write a file with a time of its own, so that no cached bytecode passes for it."""
        path.write_text(source, encoding="utf-8")
        self.clock += 1
        os.utime(path, (self.clock, self.clock))

    def _limit(self, tests: Sequence[str]) -> float:
        """Return the seconds that the tests may take: twice what they take without a change."""
        if tuple(tests) not in self.limits:
            start = time.monotonic()
            if self._run(tests, 3600.0) != 0:
                raise SystemExit(f"the tests fail without any change:\n{self._log()}")
            self.limits[tuple(tests)] = 10 + 2 * (time.monotonic() - start)
        return self.limits[tuple(tests)]

    def _run(self, tests: Sequence[str], limit: float) -> int:
        """Run pytest in a fork; return its exit code, or -1 after ``limit`` seconds."""
        child = os.fork()
        if child == 0:
            code = _BROKEN
            try:
                code = self._test(tests)
            finally:
                os._exit(code)
        end = time.monotonic() + limit
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                if code == _BROKEN:
                    raise SystemExit(f"the tests could not be run:\n{self._log()}")
                return code
            time.sleep(0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return -1

    def _test(self, tests: Sequence[str]) -> int:
        import pytest

        log = os.open(self.folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder / "src"))
        return int(pytest.main([*_OPTIONS, *tests], plugins=[_FirstFailure(self.folder)]))

    def _log(self) -> str:
        return (self.folder / "log.txt").read_text(encoding="utf-8")


class _FirstFailure:
    """A pytest plugin: hypothesis stops at the first failure, and the copy is what is tested."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        phases = [Phase.explicit, Phase.generate]  # a failure need not be made smaller
        settings.register_profile("mutation", settings.get_profile("heavy"), phases=phases)
        settings.load_profile("mutation")
        try:
            import shuffledp
        except Exception:
            return  # a mutant that cannot be imported; its tests will fail
        if not Path(shuffledp.__file__).is_relative_to(self.folder):
            os._exit(_BROKEN)
