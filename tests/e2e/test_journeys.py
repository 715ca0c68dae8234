"""What people do, in real Chromium, against the whole running system."""

import re
import uuid
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.api import Api, ended
from tests.e2e.browsing import inaccessible, pick, sign_in
from tests.e2e.fleet import Fleet
from tests.suites import effort

pytestmark = pytest.mark.e2e

PICTURES = Path(__file__).resolve().parents[2] / "var" / "pictures"
WIDTHS = (1280, 1920)


def make_system(rest: Api) -> tuple[str, str]:
    """A system of one's own with one broker, so that journeys do not meet each other's topics."""
    name = f"journey {uuid.uuid4().hex[:6]}"
    system = rest.post("/api/v1/systems", {"name": name, "product": "simulated"}).json()
    rest.post(
        "/api/v1/brokers",
        {
            "system": system["id"],
            "name": "b1",
            "capacities": [{"resource": "cpu", "capacity": 50_000}],
        },
    )
    return system["id"], name


def test_sign_in_refuses_a_wrong_password(page: Page, rest: Api) -> None:
    page.goto("/")
    page.get_by_label("Name").fill("demo")
    page.get_by_label("Password").fill("not it")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("do not match an account")).to_be_visible()


def test_topic_two_classes_and_a_utility_optimized_and_seen(page: Page, rest: Api) -> None:
    system, _ = make_system(rest)
    sign_in(page)

    page.goto(f"/systems/{system}/utility-functions/new")
    page.get_by_label("Name", exact=True).fill("gold")
    page.get_by_text("Log", exact=True).click()
    page.get_by_label("Weight").fill("20")
    page.get_by_role("button", name="Create utility function").click()
    expect(page).not_to_have_url(re.compile("/new$"))

    page.goto(f"/systems/{system}/topics/new")
    page.get_by_label("Name", exact=True).fill("prices")
    page.get_by_label("Lowest rate").fill("50")
    page.get_by_label("Highest rate").fill("5")
    page.get_by_role("button", name="Create topic").click()
    expect(page.get_by_text(re.compile("Above rate_max_per_s|above", re.I)).first).to_be_visible()
    page.get_by_label("Lowest rate").fill("5")
    page.get_by_label("Highest rate").fill("500")
    page.get_by_role("button", name="Create topic").click()
    expect(page).not_to_have_url(re.compile("/new$"))

    for name, wanted in (("near", "40"), ("far", "60")):
        page.goto(f"/systems/{system}/consumer-classes/new")
        page.get_by_label("Name", exact=True).fill(name)
        pick(page, "Topic", "prices")
        pick(page, "Broker", "b1")
        pick(page, "Utility function", "gold")
        page.get_by_label("Wanted").fill(wanted)
        page.get_by_label(re.compile("Cost of one consumer")).fill("10")
        page.get_by_role("button", name="Create consumer class").click()
        expect(page).not_to_have_url(re.compile("/new$"))

    page.goto(f"/systems/{system}/topology")
    page.get_by_role("link", name="Optimize").click()
    page.get_by_role("button", name="Start run").click()
    expect(page.get_by_text("Succeeded").first).to_be_visible()

    latest = rest.get("/api/v1/allocations", system=system)["results"][0]
    page.goto(f"/allocations/{latest['id']}")
    expect(page.get_by_role("heading", name="Allocation A-1")).to_be_visible()
    shown = f"{latest['admitted']:,}"
    expect(page.get_by_text(shown).first).to_be_visible()
    expect(page.get_by_text("of 100").first).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("near"))).to_be_visible()


def test_long_run_shows_progress_and_is_cancelled(page: Page, rest: Api) -> None:
    sign_in(page)
    run = rest.optimize(
        "Base workload",
        method="lrgp",
        parameters={"max_iterations": 1_000_000, "patience": 1_000_000},
    )
    page.goto(run.replace("/api/v1", ""))
    expect(page.get_by_text("Running").first).to_be_visible()
    expect(page.get_by_text("Best utility so far")).to_be_visible()

    page.get_by_role("button", name="Cancel run").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel run").click()

    expect(page.get_by_text("Cancelled").first).to_be_visible()
    assert rest.get(run)["state"] == "cancelled"


def test_viewer_sees_no_button_that_would_be_refused(page: Page, rest: Api, address: str) -> None:
    system = rest.system("Base workload")
    sign_in(page, "viewer")
    for path in ("topology", "topics", "allocations"):
        page.goto(f"/systems/{system['id']}/{path}")
        expect(page.get_by_text(system["name"]).first).to_be_visible()
        expect(page.get_by_role("button", name="Optimize")).to_have_count(0)
        expect(page.get_by_role("link", name="Optimize")).to_have_count(0)
        expect(page.get_by_role("link", name=re.compile("^New "))).to_have_count(0)
        expect(page.get_by_role("button", name=re.compile("^New "))).to_have_count(0)

    viewer = Api(address, "viewer")
    refused = viewer.post("/api/v1/allocations", {"system": system["id"]})
    assert refused.status_code == 403
    assert refused.json()["code"] == "permission_denied"


# Contrast depends on the scheme and what fits on the width, hardly anything on both.
LOOKS = effort(
    (("light", 1280), ("dark", 1920)),
    tuple((scheme, width) for scheme in ("light", "dark") for width in WIDTHS),
)


def test_pages_are_accessible_and_pictured(
    browser: Browser, address: str, rest: Api, fleet: Fleet
) -> None:
    system = rest.system("Meridian")
    plan = fleet.some_plan()
    latest = rest.get("/api/v1/allocations", system=system["id"])["results"][0]
    alarms = rest.get("/api/v1/topics", system=fleet.system, name="alarms")["results"][0]
    fleet_topic = f"/systems/{fleet.system}/topics/{alarms['id']}"
    context = browser.new_context(base_url=address)
    page = context.new_page()
    sign_in(page)
    pages = {
        "home": ("/", "every broker within its capacity"),
        "inbox": ("/inbox", "To know"),
        "topics": (f"/systems/{system['id']}/topics", "trades.london"),
        "topology": (f"/systems/{system['id']}/topology", "Busiest links"),
        "allocation": (f"/allocations/{latest['id']}", "best feasible"),
        "placements": (f"/systems/{system['id']}/placements", "newest first"),
        "correlation": (f"/systems/{system['id']}/correlation", "newest first"),
        "runs": ("/runs", "R-1"),
        "plans": ("/plans", plan["name"]),
        "plan": (f"/plans/{plan['id']}", "Your decision"),
        "promises": ("/promises", "Service level of Weir"),
        "telemetry": (f"/systems/{fleet.system}/telemetry", "Gates"),
        "records": (f"/systems/{fleet.system}/records", "Sums by minute are kept for"),
        "measured": (f"/systems/{fleet.system}/measured", "minute by minute"),
        "over-time": (f"{fleet_topic}/over-time", "alarms p99: at most"),
        "system-over-time": (f"/systems/{fleet.system}/over-time", "rows arrived"),
        "demand": (f"/systems/{fleet.system}/demand", "Snapshots were always made"),
        "service-levels": (f"/systems/{fleet.system}/service-levels", "how objectives held"),
        "policies": ("/settings/policies", "what a plan needs"),
    }
    PICTURES.mkdir(parents=True, exist_ok=True)
    violations = {}
    for name, (path, content) in pages.items():
        page.goto(path)
        # What comes last to the page: without it, an empty frame would be judged. The first minute
        # of records is there two minutes after the fleet began at the latest.
        expect(page.get_by_text(content).first).to_be_visible(timeout=180_000)
        expect(page.get_by_text(re.compile("^Live")).first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        if name in ("topology", "plan"):
            expect(page.locator("canvas").first).to_be_visible()
        for scheme, width in LOOKS:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=PICTURES / f"{name}-{scheme}-{width}.png", full_page=True)
            serious = inaccessible(page)
            if serious:
                violations[name, scheme, width] = serious
    context.close()
    assert violations == {}


def test_allocation_page_reads_like_its_numbers(page: Page, rest: Api) -> None:
    """The README's picture, and that the page shows what the API says."""
    run = rest.wait(rest.optimize("Base workload", cold=True), ended, 60)
    allocation = rest.get(f"/api/v1/allocations/{run['allocation']}")
    sign_in(page)
    page.goto(f"/allocations/{allocation['id']}")
    expect(page.get_by_text("best feasible")).to_be_visible()
    expect(page.get_by_text(f"{allocation['utility']:,.1f}").first).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("c18"))).to_be_visible()
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(
        path=PICTURES / "readme.png",
        full_page=True,
        clip={"x": 0, "y": 0, "width": 1440, "height": 1455},
    )
