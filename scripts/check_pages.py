#!/usr/bin/env python3
"""Looks at the HTML pages in a headless Chromium: nothing overflows, nothing overlaps, nothing is fetched, and its buttons work.

    scripts/check_pages.py                    the sample pages of provi-report
    scripts/check_pages.py a.html b.html      these pages
    --install                                 get Chromium from apt if it is missing (needs root)
    --shots DIR                               keep screenshots: light, dark, narrow, and a PDF

Without Chromium it says so and passes. Needs the standard library alone: it speaks the browser's debugging
protocol over a pair of pipes.
"""

import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = (1200, 800, 360)
PATIENCE = 60.0

# What a reader would complain about, as a list of sentences.
COMPLAINTS = r"""(() => {
  const out = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) out.push(`page is ${root.scrollWidth} px wide in a window of ${innerWidth}`);
  if (document.querySelector('script[src]')) out.push('page fetches a script');
  document.querySelectorAll('.option[hidden]').forEach(option => { option.hidden = false; });
  document.querySelectorAll('svg').forEach((svg, k) => {
    const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
    const name = `drawing ${k} (${svg.getAttribute('aria-label').slice(0, 40)})`;
    if (svg.getAttribute('role') !== 'img') out.push(`${name} has no role`);
    const texts = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
    const words = t => t.firstChild.data;
    for (const [t, box] of texts) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        out.push(`${name}: "${words(t)}" leaves it`);
      if (parseFloat(t.getAttribute('font-size')) * scale < 6) out.push(`${name}: "${words(t)}" is too small`);
    }
    for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
      const a = texts[i][1], b = texts[j][1];
      // Boxes of text are taller than its letters.
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 0.35 * Math.min(a.height, b.height))
        out.push(`${name}: "${words(texts[i][0])}" covers "${words(texts[j][0])}"`);
    }
  });
  return out;
})()"""


# What a reader does: choose another view, sort a table, walk along the marks of a drawing, hide a column.
DEEDS = r"""(() => {
  const out = [], all = what => [...document.querySelectorAll(what)];
  all('.choice').forEach(choice => {
    const shown = () => [...choice.children].filter(c => c.matches('.option') && !c.hidden).length;
    const buttons = [...choice.querySelectorAll(':scope > .buttons button')];
    if (shown() !== 1) out.push('a choice shows several views at first');
    buttons.forEach(button => {
      button.click();
      if (shown() !== 1 || button.getAttribute('aria-pressed') !== 'true') out.push(`"${button.textContent}" does not show its view`);
    });
    if (buttons.length) buttons[0].click();
  });
  all('table').forEach(table => {
    const button = table.querySelector('thead th.n button');
    if (!button) return;
    const names = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent).join();
    const before = names();
    button.click();
    const column = button.parentNode.cellIndex;
    const sizes = [...table.tBodies[0].rows].map(row => parseFloat(row.cells[column].textContent.replace('−', '').replace(/,/g, '')));
    const plain = [...table.tBodies[0].rows].every(row => !/[×–]/.test(row.cells[column].textContent));
    if (plain && sizes.some((x, i) => i && x > sizes[i - 1])) out.push(`a table is not sorted: ${sizes}`);
    button.click();
    button.click();
    if (names() !== before) out.push('a table does not go back to its order');
  });
  const tip = document.querySelector('.tip');
  if (tip) all('figure svg[tabindex]').forEach(svg => {
    svg.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    if (!tip.textContent) out.push('an arrow key says nothing');
    svg.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    if (tip.textContent) out.push('the tip stays');
    if (svg.querySelector('path title, circle title, rect title')) out.push('a mark has two tips');
  });
  const tick = document.querySelector('.columns input');
  if (tick) {
    const cells = () => all('table td[hidden], table th[hidden]').length;
    tick.click();
    if (!cells()) out.push('a column cannot be hidden');
    tick.click();
    if (cells()) out.push('a column stays hidden');
  }
  return out;
})()"""


class Browser:
    """A headless Chromium, spoken to over its debugging pipe."""

    def __init__(self, program, profile):
        (out_read, self.out), (self.inn, in_write) = os.pipe(), os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        arguments = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
            f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank",
        ]
        script = f'exec 3<&{out_read} 4>&{in_write}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", *arguments], pass_fds=(out_read, in_write),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(out_read)
        os.close(in_write)
        self.buffer, self.count, self.events, self.session = b"", 0, [], None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def receive(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.inn], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE:.0f} s")
            chunk = os.read(self.inn, 1 << 16)
            if not chunk:
                raise ConnectionError("the browser went away")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, page):
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())

    def resize(self, width, height=900):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 500)

    def colours(self, scheme):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def shoot(self, path):
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def heard(events, page):
    """What the page complained about while loading, and what it asked the network for."""
    for event in events:
        method, data = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            yield f"exception: {data['exceptionDetails'].get('text')}"
        elif method == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            yield f"console: {[a.get('value') for a in data['args']]}"
        elif method == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            yield f"log: {data['entry']['text']}"
        elif method == "Network.requestWillBeSent":
            url = data["request"]["url"]
            if url.split("#")[0] != page.as_uri() and not url.startswith("data:"):
                yield f"fetches {url}"


def check(browser, page, shots):
    complaints = []
    for scheme in ("light", "dark"):
        browser.colours(scheme)
        for width in WIDTHS if scheme == "light" else WIDTHS[:1]:
            browser.resize(width)
            browser.open(page)
            deeds = list(browser.evaluate(DEEDS))
            if shots:
                browser.shoot(shots / f"{page.stem}-{width}-{scheme}.png")
            found = deeds + list(browser.evaluate(COMPLAINTS)) + list(heard(browser.events, page))
            complaints += [f"{page.name} at {width} px, {scheme}: {text}" for text in found]
    if shots:
        data = browser.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
        (shots / f"{page.stem}.pdf").write_bytes(base64.b64decode(data))
    return complaints


def chromium(install):
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found and install and shutil.which("apt-get"):
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", *command], stdout=subprocess.DEVNULL, check=False)
        found = shutil.which("chromium")
    return found


def sample(folder):
    subprocess.run(
        ["cargo", "run", "--quiet", "--package", "provi-report", "--example", "sample", "--", str(folder)],
        cwd=ROOT, check=True)
    return sorted(folder.glob("*.html"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--shots", type=pathlib.Path)
    arguments = parser.parse_args()
    program = chromium(arguments.install)
    if not program:
        print(f"pages: skipped, no Chromium here (looked for {', '.join(NAMES)}; --install gets one from apt)")
        return 0
    if arguments.shots:
        arguments.shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        pages = [page.resolve() for page in arguments.pages] or sample(folder / "pages")
        browser = Browser(program, folder / "profile")
        try:
            complaints = [text for page in pages for text in check(browser, page, arguments.shots)]
        finally:
            browser.close()
    for text in complaints:
        print(text)
    print(f"pages: {len(pages)} looked at in {len(WIDTHS)} widths, light and dark; {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
