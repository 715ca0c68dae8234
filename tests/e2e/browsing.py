"""The browser of these tests, and what everybody does in it."""

import shutil

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    "/usr/bin/chromium",
)
# Chromium's own background requests cannot leave this machine; without these it keeps trying.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


TRANSITIONS_ENDED = """async () => {
    const moving = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.allSettled(moving.map((one) => one.finished));
}"""

# A machine that also runs six brokers may be slow to draw; it must not be slow to be right.
expect.set_options(timeout=60_000)


def sign_in(page: Page, username: str = "demo", password: str = "weir-demo") -> None:
    page.goto("/")
    page.get_by_label("Name").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


def inaccessible(page: Page) -> dict[str, list[str]]:
    """Return what people with disabilities cannot use on the page: rule -> elements."""
    # Half-way from one colour to another is none of them.
    page.evaluate(TRANSITIONS_ENDED)
    return {
        rule["id"]: [node["html"] for node in rule["nodes"]]
        for rule in Axe().run(page).response["violations"]
        if rule["impact"] in ("serious", "critical")
    }


def pick(page: Page, label: str, text: str, index: int = 0) -> None:
    """Choose from a field that searches as one types."""
    field = page.get_by_label(label, exact=True).and_(page.get_by_role("combobox")).nth(index)
    field.fill(text)
    page.get_by_role("option", name=text, exact=True).first.click()
