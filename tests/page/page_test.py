#!/usr/bin/env python3
"""Drives the service's page in a real browser: usage: page_test.py FRAMEWIRE PICTURE.JPG WORK_DIR

Needs Debian's chromium, chromium-driver and python3-selenium; without them it says SKIPPED and ends
with 77. Leaves a screenshot of each step in WORK_DIR.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from free_ports import free_ports  # noqa: E402

SKIPPED = 77

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("SKIPPED: there is no python3-selenium")
    sys.exit(SKIPPED)


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def start_server(program, work, port, *options):
    with open(work / "serve.log", "ab") as log:
        server = subprocess.Popen(
            [program, "serve", work / "photos", "--listen", f"127.0.0.1:{port}", *options],
            stdout=log, stderr=log)
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
            break
        except OSError:
            time.sleep(0.05)
    return server


def stop(server):
    server.terminate()
    check(server.wait(20) == 0, f"the server ended with {server.returncode}")


class Page:
    """The page in a browser, and what a person does on it."""

    def __init__(self, browser, url, work):
        self.browser, self.url, self.work, self.shots = browser, url, work, 0

    def __getitem__(self, name):
        return self.browser.find_element(By.ID, name)

    def wait(self, condition, what):
        WebDriverWait(self.browser, 20).until(lambda _: condition(), what)

    def shot(self, name):
        self.shots += 1
        self.browser.save_screenshot(str(self.work / f"{self.shots}-{name}.png"))

    def open(self):
        self.browser.get(self.url)
        self.wait(lambda: self.browser.find_elements(By.ID, "option-size"), "no options")

    def after(self):
        """Width and height of the result."""
        return tuple(self.browser.execute_script(
            "const i = document.getElementById('after'); return [i.naturalWidth, i.naturalHeight]"))

    def fact(self, name):
        return self.browser.execute_script(
            "return [...document.querySelectorAll('#facts dt')].find(e => e.textContent ==="
            " arguments[0])?.nextSibling.textContent || ''", name)

    def set(self, option, text):
        field = self[f"option-{option}"]
        field.clear()
        field.send_keys(text, Keys.TAB)


def check(ok, what):
    if not ok:
        raise AssertionError(what)


def try_drop(page, picture):
    """A file that is dropped is resized at once, as it is without options."""
    page.browser.execute_script("""
        const bytes = Uint8Array.from(atob(arguments[0]), c => c.charCodeAt(0));
        const data = new DataTransfer();
        data.items.add(new File([bytes], 'dropped.jpg', { type: 'image/jpeg' }));
        dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));""",
        __import__("base64").b64encode(picture.read_bytes()).decode())
    page.wait(lambda: page["result"].is_displayed(), "nothing came of a drop")
    check("dropped.jpg" in page["chosen"].text, "the dropped file is not named")
    page.shot("dropped")


def try_change(page, picture):
    """Options change the picture, its facts and the command to copy."""
    page["file"].send_keys(str(picture))
    page.wait(lambda: page.after()[0] > 160, "the whole picture does not come")
    page.set("size", "160x")
    page.wait(lambda: page.after()[0] == 160, "the size stays as it was")
    check("160×" in page.fact("after"), f"after: {page.fact('after')}")
    check("turbo: " in page.fact("codec"), f"neither codec nor reason: {page.fact('codec')}")
    check("size=160x" in page["curl"].text, page["curl"].text)
    check(page.browser.find_elements(By.CSS_SELECTOR, "#legend li"), "no time by stage")
    page.shot("resized")
    command = page["curl"].text.replace(picture.name, str(picture)).replace(
        "-o small.jpg", f"-sS -o '{page.work}/curl.jpg'")
    subprocess.run(command, shell=True, check=True)
    check((page.work / "curl.jpg").read_bytes()[:2] == b"\xff\xd8", f"not a JPEG: {command}")


def try_compare(page):
    """The slider shows more or less of the original, by keys too."""
    def shown():
        return page.browser.execute_script("return document.getElementById('before').style.clipPath")
    middle = shown()
    page["slider"].send_keys(Keys.END)
    check(shown() != middle and "0%" in shown(), f"the slider does nothing: {shown()}")
    page["slider"].send_keys(Keys.HOME)
    check("100%" in shown(), f"the slider does nothing: {shown()}")


def try_error(page):
    """A mistake is told beside the picture, marked at its field, and mended."""
    page.set("size", "huge")
    page.wait(lambda: page["error"].is_displayed(), "no error is shown")
    check("huge" in page["error"].text and "accepted" in page["error"].text, page["error"].text)
    check(page["option-size"].get_attribute("aria-invalid") == "true", "the field is not marked")
    page.shot("error")
    page.set("size", "120x")
    page.wait(lambda: page.after()[0] == 120, "the mended option does nothing")
    check(not page["error"].is_displayed(), "the error stays")
    check(page["option-size"].get_attribute("aria-invalid") is None, "the mark stays")


def try_path(page, name):
    """A picture of the served folder has a URL, which gives the same picture."""
    page["path"].send_keys(name, Keys.ENTER)
    page.wait(lambda: page["url-line"].is_displayed(), "no URL is shown")
    url = page["url"].text
    check("/plain/" in url and "s:120:0" in url, url)
    with urllib.request.urlopen(url) as answer:
        check(answer.headers["Content-Type"] == "image/jpeg", url)
    # An option whose group is folded up, and whose value is a place.
    page.browser.execute_script("arguments[0].value = 'so'", page["option-extend"])
    page["path"].send_keys(Keys.ENTER)
    page.wait(lambda: "ex:1:so" in page["url"].text, "the URL does not say where to extend")
    urllib.request.urlopen(page["url"].text).close()
    page.browser.execute_script("arguments[0].value = ''", page["option-extend"])
    page.shot("by-url")
    # Options that a URL says in other words, each with what the picture becomes.
    original = page.browser.execute_script("const i = document.getElementById('after');"
                                           " return i.naturalWidth / i.naturalHeight")
    for options, said, size in (
            ({"size": "100x", "min-size": "x90"}, "mw:0/mh:90", (100, 90)),
            ({"size": "120x120", "background": "204060"}, "bg:204060/ex:1:ce", (120, 120)),
            ({"size": "64x", "crop": "200x100", "crop-gravity": "noea"}, "c:200:100:noea", (64, 32)),
            ({"size": "240x", "max-bytes": "4k"}, "mb:4096", (240, round(240 / original))),
            ({"size": "240x", "max-bytes": "4K"}, "mb:4096", (240, round(240 / original)))):
        for option, value in options.items():
            page.browser.execute_script("arguments[0].value = arguments[1]", page[f"option-{option}"],
                                        value)
        page["path"].send_keys(Keys.ENTER)
        page.wait(lambda: said in page["url"].text and page.after() == size,
                  f"{options}: {page['url'].text} gives {page.after()}; {page['error'].text}")
        for option in options:
            page.browser.execute_script("arguments[0].value = ''", page[f"option-{option}"])
    # What no URL says is told.
    page.browser.execute_script("arguments[0].value = 'area'", page["option-kernel"])
    page["path"].send_keys(Keys.ENTER)
    page.wait(lambda: "No URL says kernel" in page["error"].text, page["error"].text)
    page["reset"].send_keys(Keys.SPACE)
    # The form is made anew: an element that was found before may be gone.
    page.wait(lambda: page.browser.execute_script(
        "return document.getElementById('option-kernel').value") != "area", "nothing is reset")
    page["path"].send_keys(Keys.ENTER)
    page.wait(lambda: not page["error"].is_displayed(), "the error stays")


def try_copy(page):
    """What is copied is what is shown, by a click and by the keyboard."""
    page.browser.execute_cdp_cmd("Browser.grantPermissions", {
        "origin": page.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    for name, keys in (("url", Keys.ENTER), ("curl", Keys.SPACE)):
        button = page.browser.find_element(By.CSS_SELECTOR, f"[data-copy={name}]")
        button.send_keys(keys)
        page.wait(lambda: button.text == "Copied", f"{name} is not copied")
        copied = page.browser.execute_async_script(
            "navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))")
        check(copied == page[name].text, f"copied {copied}, shown {page[name].text}")


def try_prefix(page, name):
    """All of it also below a path of its own, with a slash at its end or without."""
    for url in (page.url, page.url.rstrip("/")):
        page.browser.get(url)
        page.wait(lambda: page.browser.find_elements(By.ID, "option-size"), "no options")
        page.wait(lambda: page["health"].text == "ready", page["health"].text)
        page.set("size", "90x")
        page["path"].send_keys(name, Keys.ENTER)
        page.wait(lambda: page.after()[0] == 90, f"no picture: {page['error'].text}")
        check(page["url"].text.startswith(page.url + "unsafe/"), page["url"].text)
        page["tab-status"].click()
        page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#codes td"), "no figures")


def try_defaults(page, picture, name):
    """The form shows what the server makes of a picture without options, and says anything else."""
    page.open()
    check(page["option-quality"].get_attribute("placeholder") == "60", "not the server's quality")
    check(page["option-enlarge"].is_selected(), "the server enlarges")
    check(page["option-resize"].get_attribute("value") == "fill", "the server fills")
    page["file"].send_keys(str(picture))
    page.wait(lambda: page.after() == (90, 80), f"{page.after()}; {page['error'].text}")
    check("?" not in page["curl"].text, page["curl"].text)
    page.set("quality", "80")
    page.wait(lambda: "quality=80" in page["curl"].text, page["curl"].text)
    page.browser.execute_script("arguments[0].click()", page["option-enlarge"])
    page.wait(lambda: "enlarge=false" in page["curl"].text, page["curl"].text)
    page["path"].send_keys(name, Keys.ENTER)
    page.wait(lambda: page["url-line"].is_displayed(), "no URL is shown")
    url = page["url"].text
    check("/q:80/" in url and "/el:0/" in url and "s:" not in url, url)
    check(page.after() == (90, 80), f"{url} gives {page.after()}")


def try_phone(page):
    """On a narrow screen nothing is wider than the screen."""
    page.browser.set_window_size(390, 844)
    wide = page.browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    check(wide <= 0, f"{wide} pixels too wide")
    page.shot("phone")
    page.browser.set_window_size(1280, 900)


def try_keyboard(page, picture):
    """By the keyboard alone: every control is reached, in the order of the page, and works."""
    page.open()
    page["file"].send_keys(str(picture))  # the dialog of the system is not the page's
    page.wait(lambda: page["result"].is_displayed(), "no result")
    reached = []
    page.browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(60):
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
        name = page.browser.execute_script("return document.activeElement.id || "
                                           "document.activeElement.textContent.trim()")
        if name in reached:
            break
        reached.append(name)
    for wanted in ("tab-try", "pick", "path", "option-size", "go", "slider", "curl"):
        check(wanted in reached, f"{wanted} is not reached by Tab; reached: {reached}")
    page["tab-try"].send_keys(Keys.ARROW_RIGHT)
    page.wait(lambda: page["status"].is_displayed(), "the arrow key does not change the page")
    page.shot("status")
    page["tab-status"].send_keys(Keys.ARROW_LEFT)
    page.wait(lambda: page["try"].is_displayed(), "the arrow key does not change the page back")


def try_status(page):
    """The status view has figures of what happened, which go on."""
    def tile(name):
        return page.browser.execute_script(
            "const tile = [...document.querySelectorAll('#tiles .tile')].find(e =>"
            " e.firstChild.textContent === arguments[0]);"
            " return tile ? [...tile.children].map(e => e.textContent) : ['', '', '']", name)

    def answers():
        rows = page.browser.execute_script(
            "return [...document.querySelectorAll('#codes tr')].slice(1).map(row =>"
            " [...row.children].map(cell => cell.textContent))")
        return {status: int(count) for status, count in rows}
    page["tab-status"].click()
    page.wait(lambda: "in all" in tile("requests a second")[2], "no figures")
    check(not page["no-metrics"].is_displayed(), page["no-metrics"].text)
    before = answers()
    check(before.get("200", 0) > 3 and before.get("400") == 1, f"statuses: {before}")
    check(int(tile("requests a second")[2].split()[0]) >= sum(before.values()), "requests are missing")
    check(tile("pixels decoded")[1].endswith(" M"), f"{tile('pixels decoded')}")
    for _ in range(5):
        urllib.request.urlopen(page.url + "v1/options").close()
    page.wait(lambda: answers().get("200", 0) >= before["200"] + 5, "the table stays as it was")

    def rate_after_a_request():
        urllib.request.urlopen(page.url + "v1/options").close()
        return float(tile("requests a second")[1])
    page.wait(lambda: rate_after_a_request() > 0, "no request a second")
    page.wait(lambda: tile("median")[1].startswith(("≤", "slower")), "no median")
    page.shot("figures")


def check_log(browser):
    """Nothing but the refused request may have been complained of, and nothing from elsewhere."""
    bad = [line for line in browser.get_log("browser")
           if "size=huge" not in line["message"]]
    check(not bad, f"the browser complains: {bad}")
    names = browser.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)")
    outside = [name for name in names if not name.startswith(("http://127.0.0.1:", "blob:", "data:"))]
    check(not outside, f"loaded from elsewhere: {outside}")


def main():
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("SKIPPED: there is no chromium with its driver")
        return SKIPPED
    program, picture, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(work, ignore_errors=True)
    (work / "photos/trip").mkdir(parents=True)
    shutil.copy(picture, work / "photos/trip/night on the bay.jpg")
    (port,) = free_ports(1)
    server = start_server(program, work, port)
    os.environ["HOME"] = str(work)
    browser = start_browser()
    try:
        page = Page(browser, f"http://127.0.0.1:{port}/", work)
        page.open()
        page.shot("opened")
        try_drop(page, picture)
        try_change(page, picture)
        try_compare(page)
        try_error(page)
        try_path(page, "trip/night on the bay.jpg")
        try_copy(page)
        try_phone(page)
        try_keyboard(page, picture)
        try_status(page)
        check_log(browser)
        stop(server)
        server = start_server(program, work, port, "--path-prefix", "/img/eu")
        try_prefix(Page(browser, f"http://127.0.0.1:{port}/img/eu/", work), "trip/night on the bay.jpg")
        stop(server)
        server = start_server(program, work, port, "--quality", "60", "--enlarge", "--resize", "fill",
                              "--size", "90x80")
        try_defaults(Page(browser, f"http://127.0.0.1:{port}/", work), picture,
                     "trip/night on the bay.jpg")
    finally:
        browser.quit()
        stop(server)
    print("the page works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
