"""How quick the local page is: key press to new answer, and many requests at once.

Run: python benchmarks/page.py [requests]. It starts a server of its own; the browser part needs
playwright and Chromium, and is left out without them.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from shuffledp import ShuffleAccountant

MECHANISM = "krr(k=10, epsilon0=2)"
CALLERS = 8
PRESSES = 15


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A server on a free port: its address and process."""
    command = [sys.executable, "-m", "shuffledp", "explore", "--no-browser"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        found = re.match(r"(http://\S+)", process.stdout.readline())
        assert found is not None
        try:
            yield found.group(1), process.pid
        finally:
            process.send_signal(2)
            process.wait(20)


def ask(address: str, n: int) -> int:
    query = urllib.parse.urlencode({"mechanism": MECHANISM, "n": n, "delta": "1e-6"})
    try:
        with urllib.request.urlopen(f"{address}api/epsilon?{query}", timeout=60) as answer:
            answer.read()
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def bare() -> float:
    """Seconds for the same answer in this process, the median of several."""
    times = []
    for n in range(10_000, 10_000 + PRESSES):
        start = time.perf_counter()
        ShuffleAccountant(MECHANISM, n).epsilon_report(1e-6)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def pressed(address: str) -> list[float]:
    """Seconds from a key press in the field n until the answer on the page is another one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}?tab=answer")
        page.locator("#guarantee", has_text="ε").wait_for()
        page.evaluate(WATCH)
        for i in range(PRESSES):
            page.locator("#n").focus()
            page.keyboard.press("End")
            page.keyboard.press("Backspace" if i % 2 else "5")
            page.wait_for_timeout(1500)
        times = page.evaluate("window.times")
        browser.close()
    return [ms / 1000 for ms in times]


#: The page measures itself: the clock starts with the key, before anything else happens.
WATCH = """
window.times = [];
let begun = 0;
document.addEventListener("keydown", (event) => {
  if (event.key !== "End") begun = performance.now();
}, true);
new MutationObserver(() => {
  if (begun) window.times.push(performance.now() - begun);
  begun = 0;
}).observe(document.getElementById("guarantee"), { childList: true });
"""


def memory(pid: int) -> dict[str, float]:
    """Resident megabytes of a process and of those it started."""
    found = {}
    for name in [str(pid), *children(pid)]:
        status = Path(f"/proc/{name}/status").read_text(encoding="utf-8")
        line = re.search(r"VmRSS:\s+(\d+) kB", status)
        found[name] = int(line.group(1)) / 1024 if line else 0.0
    return found


def children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text(encoding="utf-8").split()]


def load(address: str, pid: int, requests: int) -> None:
    for n in range(4):
        ask(address, 100 + n)  # all are ready
    print(f"{requests} requests by {CALLERS} callers, each another question")
    for part in range(3):
        start = time.perf_counter()
        numbers = range(1000 + part * requests, 1000 + (part + 1) * requests, 3)
        with ThreadPoolExecutor(CALLERS) as pool:
            statuses = Counter(pool.map(lambda n: ask(address, n), numbers))
        seconds = time.perf_counter() - start
        held = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
        rate = sum(statuses.values()) / seconds
        print(
            f"  part {part + 1}: {held}; {rate:.0f} per second; {sum(memory(pid).values()):.0f} MB"
        )


def main(requests: int = 600) -> None:
    print(f"{MECHANISM}, bare computation: {1000 * bare():.0f} ms")
    with server() as (address, pid):
        try:
            times = pressed(address)
        except ImportError:
            print("no playwright: the page was not measured")
        else:
            worst, median = max(times), statistics.median(times)
            print(
                f"key press to new answer: {1000 * median:.0f} ms, at worst {1000 * worst:.0f} ms"
            )
        load(address, pid, requests)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
