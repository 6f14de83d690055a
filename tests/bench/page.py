"""scripts/bench page: how large the page of a long profile is, and how soon a browser shows it."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = (100_000, 1_000_000)


def opened(packages, chromium, address):
    """ms until the page at this address is shown, and until a click on it has selected a part of it."""
    run = subprocess.run(["node", os.path.join(HERE, "page_opens.mjs"), address], check=True, capture_output=True, text=True,
                         env={**os.environ, "PAGE_PACKAGES": packages, "PAGE_CHROMIUM": chromium})
    return [int(number) for number in run.stdout.split()]


def served(profctl, file):
    """`profctl web` of a file, and its address."""
    child = subprocess.Popen([profctl, "web", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             env={**os.environ, "PROFD_HOST": "unix:/nowhere"})
    return child, child.stdout.readline().strip()


def main(profctl, build, rounds):
    packages = os.path.join(build, "viewers")
    if not os.path.isdir(os.path.join(packages, "node_modules/playwright-core")):
        sys.exit("bench: the browser's driver is missing; scripts/test --only browser_viewers_test installs it")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("bench: chromium is missing; scripts/setup --tests installs it")
    print("| profile | page | export | file shown | then a click | `profctl web` shown | then a click |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for samples in SAMPLES:
            file, page = os.path.join(folder, "made.json"), os.path.join(folder, "made.html")
            subprocess.run([os.path.join(build, "bin/bench_report"), "--write", file, str(samples)], check=True)
            columns = []
            for _ in range(rounds):
                begin = time.monotonic()
                subprocess.run([profctl, "export", "-q", file, "-o", page], check=True)
                row = [(time.monotonic() - begin) * 1000, *opened(packages, chromium, f"file://{page}")]
                child, address = served(profctl, file)
                try:
                    row += opened(packages, chromium, address)
                finally:
                    child.terminate()
                    child.wait()
                columns.append(row)
            medians = [f"{statistics.median(column) / 1000:.2f} s" for column in zip(*columns)]
            print(f"| {samples:,} samples | {os.path.getsize(page) / 1e6:.1f} MB | {' | '.join(medians)} |", flush=True)
    return 0
