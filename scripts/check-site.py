#!/usr/bin/env python3
"""Checks the site that `make site` made: every link of every page, that nothing comes from a network, and, in a browser
without one, that pages fit a wide window and a narrow one and that the search finds.

    scripts/check-site.py [--pictures FOLDER] [SITE]

SITE is target/site unless it is given. With --pictures, screenshots of some pages are kept there."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# The widths of windows, in pixels: a desk and a telephone.
WIDTHS = [1280, 400]

# Pages of which screenshots are kept.
SHOWN = ["index.html", "start/five-minutes.html", "guide/coming-from.html", "measure/coordinated-omission.html",
         "recipes/limits.html", "reference/options.html", "reference/schema-result.html"]

# What somebody may look for, and the page that is to be among the results.
SEARCHES = [("coordinated omission", "measure/coordinated-omission.html"), ("request-rate", "reference/options.html"),
            ("post-quantum", "measure/tls-cost.html"), ("exit statuses", "reference/exit-statuses.html")]

# A browser that takes longer than this has failed.
PATIENCE_S = 300

# Attributes by which a page loads something.
LOADS = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The links of a page, what it loads, and the names that links may lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.names, self.title, self._in_title = [], [], set(), "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._in_title = tag == "title"
        for name, value in attributes:
            if name == "id" or (tag, name) == ("a", "name"):
                self.names.add(value)
            if (tag, name) == ("a", "href"):
                self.links.append(value)
            if (tag, name) in LOADS:
                self.loads.append(value)

    def handle_data(self, text):
        if self._in_title:
            self.title += text
            self._in_title = False


def main():
    words = sys.argv[1:]
    pictures = None
    if words[:1] == ["--pictures"]:
        pictures, words = Path(words[1]), words[2:]
    root = Path(__file__).parent.parent
    site = Path(words[0] if words else Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "site").resolve()
    paths = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    # The list of pages for browsers without scripts.
    paths = [path for path in paths if path != "toc.html"]
    if len(paths) < 50:
        sys.exit(f"check-site: expected a site of 50 pages or more in {site}, got {len(paths)}")
    pages = {path: Page((site / path).read_text()) for path in paths}
    problems = [problem for path in paths for problem in broken(site, pages, path)]
    problems += in_browser(site, paths, pictures)
    for problem in problems:
        print(f"check-site: {problem}", file=sys.stderr)
    links = sum(len(page.links) for page in pages.values())
    print(f"check-site: {len(paths)} pages, {links} links, {len(problems)} problems")
    sys.exit(1 if problems else 0)


def broken(site, pages, path):
    """What is wrong with the links of a page."""
    page = pages[path]
    if not page.title.strip():
        yield f"{path} has no title"
    for link in page.loads:
        if urlsplit(link).scheme not in ("", "data"):
            yield f"{path} loads {link}"
    for link in page.links + page.loads:
        parts = urlsplit(link)
        if parts.scheme in ("http", "https", "data", "mailto"):
            continue
        file = (site / path).parent / unquote(parts.path) if parts.path else site / path
        file = Path(os.path.normpath(file))
        if not file.is_file() or site not in file.parents:
            yield f"{path}: {link} is no file of the site"
            continue
        to = file.relative_to(site).as_posix()
        if parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].names:
            yield f"{path}: {link} leads to no heading"


# Opens each page in frames of all widths, one after the other, and writes what it finds into itself.
HARNESS = """<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>
const pages = %s, widths = %s, searches = %s;
const found = [];
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function open(address, width) {
    const frame = document.createElement('iframe');
    frame.width = width; frame.height = 900; frame.src = address;
    const loaded = new Promise((done) => { frame.onload = done; });
    document.body.append(frame);
    await loaded;
    return frame;
}
function widest(page, width) {
    // Tables and code scroll by themselves; the page with all of it is not to.
    const main = page.querySelector('main');
    const scrolls = (node) => node !== main && (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement));
    const nodes = [...main.querySelectorAll('*')].filter((node) => !scrolls(node.parentElement));
    const right = Math.min(width, main.getBoundingClientRect().right) + 1;
    const out = nodes.filter((node) => node.getBoundingClientRect().right > right);
    return out.slice(0, 1).map((node) => `${node.tagName} ${node.textContent.trim().slice(0, 50)}`).join();
}
(async () => {
    for (const path of pages) for (const width of widths) {
        const frame = await open(path, width);
        await pause(30);
        const page = frame.contentDocument;
        const excess = page.scrollingElement.scrollWidth - width;
        const wide = widest(page, width);
        if (excess > 0 || wide) found.push(`${path} at ${width}: too wide: ${wide || excess + ' pixels'}`);
        for (const picture of page.images) if (picture.naturalWidth === 0) found.push(`${path}: ${picture.src} is not shown`);
        frame.remove();
    }
    for (const [words, expected] of searches) {
        const frame = await open('index.html?search=' + encodeURIComponent(words), 1280);
        let links = [];
        for (let turn = 0; turn < 200 && links.length === 0; turn++) {
            await pause(50);
            links = [...frame.contentDocument.querySelectorAll('[id$=searchresults] a')].map((link) => link.getAttribute('href'));
        }
        if (!links.some((link) => link.includes(expected))) found.push(`a search for ${words} does not find ${expected}: ${links.slice(0, 5)}`);
        frame.remove();
    }
    document.getElementById('found').textContent = JSON.stringify(found);
    document.title = 'done';
})();
</script>"""


def in_browser(site, paths, pictures):
    """What is wrong with the pages as a browser shows them from the file system."""
    browser = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if browser is None:
        return ["no chromium is installed, so no page was looked at"]
    with tempfile.TemporaryDirectory() as folder:
        # A copy, as the page that opens all others has to lie beside them.
        copy = Path(folder) / "site"
        shutil.copytree(site, copy)
        harness = copy / "check-site-harness.html"
        harness.write_text(HARNESS % tuple(map(json.dumps, (paths, WIDTHS, SEARCHES))))
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                   f"--user-data-dir={folder}/profile", "--allow-file-access-from-files", "--hide-scrollbars",
                   # Nothing is to come from a network: every name and address leads nowhere.
                   "--host-resolver-rules=MAP * ~NOTFOUND"]
        shown = subprocess.run(command + ["--window-size=1400,1000", "--timeout=240000", "--virtual-time-budget=100000000",
                                          "--dump-dom", harness.as_uri()],
                               capture_output=True, text=True, timeout=PATIENCE_S)
        found = re.search(r'<pre id="found">(.+?)</pre>', shown.stdout, re.S)
        if found is None:
            return [f"the browser did not get through: {shown.stderr[-500:]}"]
        if pictures is not None:
            pictures.mkdir(parents=True, exist_ok=True)
            for path in SHOWN:
                for width in WIDTHS:
                    take(command, copy, path, width, pictures)
        return json.loads(html.unescape(found.group(1)))


def take(command, site, path, width, pictures):
    """Keeps a screenshot. Windows cannot be narrower than 500 pixels, but frames can."""
    page = site / "check-site-frame.html"
    page.write_text(f'<!doctype html><body style="margin:0"><iframe src="{path}" width="{width}" height="900" frameborder="0">')
    name = f"{path.replace('/', '-').removesuffix('.html')}-{width}.png"
    subprocess.run(command + [f"--screenshot={(pictures / name).resolve()}", f"--window-size={max(width, 500)},900",
                              "--virtual-time-budget=5000", page.as_uri()],
                   capture_output=True, timeout=PATIENCE_S)


main()
