#!/usr/bin/env python3
"""docs/images/make.py: draws the picture of README.md, plan.png, from the page that `ridge plan` writes.

Run it by .deps/python/bin/python after ./dev setup. RIDGE names the program, by default build/release/ridge.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
import browser

COMMAND = ["plan", "sd-unet", "--device", "H100 SXM", "--precision", "fp16", "--html", "plan.html"]
WIDTH, MARGIN = 1000, 16
MOST_BYTES = 100_000


def main():
    program = os.environ.get("RIDGE", str(ROOT / "build/release/ridge"))
    picture = pathlib.Path(__file__).with_name("plan.png")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, *COMMAND], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with browser.page(WIDTH, 1200) as (page, complaints):
            browser.show(page, pathlib.Path(folder) / "plan.html")
            page.add_style_tag(content="#language { display: none }")
            chart = page.locator("#roofline-chart").bounding_box()
            height = chart["y"] + chart["height"] + MARGIN
            page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
            assert complaints == []
    assert picture.stat().st_size < MOST_BYTES, f"{picture} is larger than {MOST_BYTES} bytes"


if __name__ == "__main__":
    main()
