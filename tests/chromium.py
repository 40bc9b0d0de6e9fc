"""A real browser, headless: Debian's Chromium. Without it these tests are skipped."""

import json
import shutil
from base64 import b64decode
from pathlib import Path

import pytest

AXE = Path(__file__).resolve().parents[1] / "build" / "axe" / "package" / "axe.min.js"
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars"
)


class Browser:
    """What tests do with a page; ``driver`` is selenium's."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, url, *, width=1100, height=900, dark=False):
        """Open a page in a window of a size, light or dark."""
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(url)

    def run(self, script, *arguments):
        """Run a script in the page and return its value."""
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def active(self):
        return self.driver.switch_to.active_element

    def texts(self, selector):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector
        )

    def requests(self):
        """Return what was asked for since the page was opened, unless the policy stopped it."""
        messages = [json.loads(one["message"])["message"] for one in self.driver.get_log("performance")]
        sent = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        failed = [one["params"] for one in messages if one["method"] == "Network.loadingFailed"]
        stopped = {one["requestId"] for one in failed if one.get("blockedReason") == "csp"}
        return [one["request"]["url"] for one in sent if one["requestId"] not in stopped]

    def complaints(self):
        """Return what the browser complains of: errors of scripts, and breaches of the security policy."""
        return [one["message"] for one in self.driver.get_log("browser")]

    def accessible(self):
        """Return what a screen reader is told of: (role, name), in their order, without texts."""
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        self.driver.execute_cdp_cmd("Accessibility.disable", {})
        told = [one for one in nodes if not one["ignored"] and "role" in one]
        found = [(one["role"]["value"], one.get("name", {}).get("value", "")) for one in told]
        return [one for one in found if one[0] not in ("StaticText", "InlineTextBox", "generic", "none")]

    def printed(self):
        """Return the page as the PDF that printing makes of it."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": False}
        return b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", paper)["data"])

    def violations(self):
        """Return what axe-core finds wrong, in short."""
        if not AXE.exists():
            pytest.skip("axe-core is not there; make browser fetches it.")
        # Through the debugger: the policy of the page forbids scripts that are not its own.
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text("utf-8")})
        ask = {"expression": "axe.run()", "awaitPromise": True, "returnByValue": True}
        found = self.driver.execute_cdp_cmd("Runtime.evaluate", ask)["result"]["value"]["violations"]
        return [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]


def driver_of_chromium():
    """Return a driver of Chromium, or skip the test."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium and its driver are not there; make browser installs them.")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))
