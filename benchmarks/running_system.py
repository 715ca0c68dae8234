"""Measure what a running system costs while nobody uses it, and how fast its pages open.

`python -m benchmarks.running_system` measures the system that `make up` has started in `var`: the
processor time of each part over a minute, as a share of one core, and for each page the seconds
from its address to its content, as the median of several loads in one Chromium session. A page has
its content when its heading stands there and no panel says any more that it is loading.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
from playwright.sync_api import Page, sync_playwright

from config.stack import proc
from config.stack.site import TAG_PART, Site
from tests.e2e.api import Api
from tests.e2e.browsing import CHROMIUM, FLAGS, sign_in

ROOT = Path(__file__).resolve().parents[1]
LOADED = """() => document.querySelector("main h1, [role=main] h1, h1") !== null
  && document.querySelector("[role=status][aria-label^=Loading]") === null"""
LONGEST_S = 30.0


def processor_seconds(site: Site) -> Counter[str]:
    """Return the processor seconds of each part so far, children that have ended included."""
    seconds: Counter[str] = Counter()
    for pid in proc.tagged([site.tag]):
        try:
            process = psutil.Process(pid)
            seconds[process.environ().get(TAG_PART, "stack")] += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return seconds


def idle_cost(site: Site, over_s: float) -> dict[str, float]:
    """Return the share of one core that each part takes, measured over `over_s` seconds."""
    before, began = processor_seconds(site), time.monotonic()
    time.sleep(over_s)
    after, took = processor_seconds(site), time.monotonic() - began
    # A process that ended between the two looks takes its seconds with it.
    return {part: max(0.0, after[part] - before[part]) / took for part in after}


def addresses(web: str) -> dict[str, str]:
    """Return the pages to open: of each kind the first object that the API lists."""
    api = Api(web)

    def first(what: str) -> str:
        rows = api.get(f"/api/v1/{what}", page_size="1")["results"]
        return str(rows[0]["id"]) if rows else ""

    system, plan = first("systems"), first("plans")
    allocation, run = first("allocations"), first("runs")
    api.client.close()
    pages = {
        "home": "/",
        "systems": "/systems",
        "system": f"/systems/{system}",
        "topology": f"/systems/{system}/topology",
        "topics": f"/systems/{system}/topics",
        "telemetry": f"/systems/{system}/telemetry",
        "allocations": f"/systems/{system}/allocations",
        "plans": "/plans",
        "runs": "/runs",
        "audit": "/audit",
    }
    found = {"plan": plan, "allocation": allocation, "run": run}
    return pages | {kind: f"/{kind}s/{one}" for kind, one in found.items() if one}


def load_s(page: Page, address: str) -> float:
    """Return the seconds from asking for an address until its content stands there."""
    began = time.monotonic()
    page.goto(address, wait_until="commit")
    page.wait_for_function(LOADED, polling="raf", timeout=LONGEST_S * 1_000)
    return time.monotonic() - began


def page_times(web: str, times: int) -> dict[str, list[float]]:
    """Return for each page the seconds of its loads; the first of them fills the browser's cache
    and is left out."""
    pages = addresses(web)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(base_url=web, viewport={"width": 1440, "height": 900})
        sign_in(page)
        taken = {}
        for name, address in pages.items():
            load_s(page, address)
            taken[name] = [load_s(page, address) for _ in range(times)]
        browser.close()
    return taken


def main() -> int:
    """Print both tables; return 2 where no system runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.running_system")
    parser.add_argument("--state", type=Path, default=ROOT / "var")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look")
    parser.add_argument("--times", type=int, default=5, help="loads of each page")
    asked = parser.parse_args()
    site = Site.open(asked.state)
    web = site.environment.get("WEIR_WEB_URL")
    if web is None or not proc.tagged([site.tag]):
        print("error: no system runs there; start it with `make up`", file=sys.stderr)
        return 2
    shares = idle_cost(site, asked.seconds)
    print(f"{'part':<16}{'of one core':>12}")
    for part, share in sorted(shares.items(), key=lambda one: -one[1]):
        print(f"{part:<16}{share:>11.1%}")
    print(f"{'all':<16}{sum(shares.values()):>11.1%}\n")
    print(f"{'page':<16}{'median s':>12}{'slowest s':>12}")
    for name, taken in page_times(web, asked.times).items():
        print(f"{name:<16}{statistics.median(taken):>12.2f}{max(taken):>12.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
