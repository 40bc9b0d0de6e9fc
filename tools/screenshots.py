"""Pictures of our pages for the documentation, taken in Chromium.

make browser
python tools/screenshots.py docs/images
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking --hide-scrollbars"


def browser(width: int, height: int) -> Any:
    """Return a driver of Chromium with a window of that size."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS.split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return driver


def command(folder: Path, *arguments: str) -> None:
    """Run a command of ours."""
    subprocess.run([sys.executable, "-m", "marginrank", *arguments], cwd=folder, check=True)


def picture_report(folder: Path, images: Path) -> None:
    """Take the path and the changed queries of a report on the sample."""
    command(folder, "sample", ".")
    command(folder, "train", "train.txt", "-o", "hinge.mrk", "--alpha", "0.3")
    command(folder, "train", "train.txt", "-o", "squares.mrk", "--method", "rankrls", "--alpha", "0.001")
    data = ["--train", "train.txt", "--test", "test.txt", "--validate", "vali.txt", "--names", "features.txt"]
    command(folder, "report", *data, "hinge.mrk", "squares.mrk", "-o", "report.html")
    driver = browser(1000, 1400)
    try:
        driver.get((folder / "report.html").as_uri())
        driver.execute_script("document.querySelector('nav').remove()")
        for name, identity in (("report.png", "path"), ("report-queries.png", "changed")):
            driver.execute_script(
                "document.querySelectorAll('#changed details')[0].open = true;"
                "document.querySelectorAll('section').forEach((e) => { e.hidden = e.id !== arguments[0]; });"
                "document.querySelector('header').hidden = true;",
                identity,
            )
            driver.find_element("id", identity).screenshot(str(images / name))
        picture_phone(driver, (folder / "report.html").as_uri(), images / "report-phone.png")
    finally:
        driver.quit()


def picture_phone(driver: Any, address: str, image: Path) -> None:
    """Take the models side by side as a phone shows them in the dark."""
    size = {"width": 390, "height": 780, "deviceScaleFactor": 1.5, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    driver.get(address)
    driver.execute_script("document.getElementById('comparison').scrollIntoView()")
    driver.save_screenshot(str(image))


def picture_judge(folder: Path, images: Path) -> None:
    """Take the judging page after some answers about made hotels."""
    from random import Random

    from selenium.webdriver.support.ui import WebDriverWait

    draw = Random(0)
    rows = ["id,name,text,price,stars,distance"]
    for k in range(200):
        name = f"{draw.choice(['Adler', 'Bristol', 'Central', 'Delta'])} {k}"
        what, where = (
            draw.choice(["a view", "a balcony", "breakfast"]),
            draw.choice(["by the sea", "in town"]),
        )
        text = f"With {what} {where}"
        rows.append(
            f"h{k:03d},{name},{text},{draw.randint(40, 240)},{draw.randint(1, 5)},{9 * draw.random():.1f}"
        )
    (folder / "items.csv").write_text("\n".join([*rows, ""]))
    options = ["items.csv", "-o", "pairs.csv", "--no-browser", "--seed", "1"]
    command = [sys.executable, "-m", "marginrank", "judge", *options]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    driver = browser(1000, 1000)
    try:
        assert process.stdout is not None
        driver.get(next(line.split()[1] for line in process.stdout if line.startswith("page")))
        wait = WebDriverWait(driver, 60)
        asked = "return document.getElementById('pair').dataset.question"
        values = (
            "return ['a', 'b'].map((side) => "
            "[...document.querySelectorAll(`#item-${side} dd`)].map((one) => one.textContent))"
        )
        for _ in range(30):
            before = wait.until(lambda driver: driver.execute_script(asked))
            a, b = (30 * float(s) - float(p) - 5 * float(d) for *_, p, s, d in driver.execute_script(values))
            driver.find_element("tag name", "body").send_keys("a" if a > b else "b")
            wait.until(lambda driver, before=before: driver.execute_script(asked) != before)
        wait.until(lambda driver: " 30 " in driver.find_element("id", "certificate").text)
        driver.save_screenshot(str(images / "judge.png"))
    finally:
        driver.quit()
        process.terminate()


def main() -> None:
    """Take all pictures."""
    images = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        picture_report(Path(folder), images)
        picture_judge(Path(folder), images)


if __name__ == "__main__":
    main()
