"""ctest: timeout 300

The front page of `ridge serve` in a real browser: models with live figures, a trial of a model, keys, both languages,
narrow windows.
"""

import json
import os
import pathlib
import re
import struct
import threading
import zlib

import pytest

import browser
import language_models
import models
from server import Server, fp32

ROW = [float(i) for i in range(16)]
PICTURES = os.environ.get("RIDGE_SCREENSHOTS")  # a folder; unset: none are kept


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    models.identity(root / "identity" / "1" / "model.onnx")
    (root / "identity" / "config.pbtxt").write_text("max_batch_size: 8\n")
    models.identity(root / "picture" / "1" / "model.onnx", "FP32", ("batch", 3, 2, 4))
    models.identity(root / "text" / "1" / "model.onnx", "BYTES", (1,))
    for half in ("FP16", "BF16"):
        models.identity(root / half.lower() / "1" / "model.onnx", half, ("batch", 9))
    models.identity(root / "labelled" / "1" / "model.onnx", "FP32", ("batch", 3))
    (root / "labelled" / "labels.txt").write_text("cat\ndog\nhouse: of cards\n")
    (root / "labelled" / "config.pbtxt").write_text(
        'max_batch_size: 1\noutput [{ name: "y" data_type: TYPE_FP32 dims: [3] label_filename: "labels.txt" }]\n')
    (root / "broken" / "1").mkdir(parents=True)
    (root / "broken" / "1" / "model.onnx").write_text("no model")
    return root


@pytest.fixture(scope="module")
def server(folder):
    with Server(folder, "--model-control-mode", "explicit", "--load-model", "identity", "--load-model", "picture",
                "--load-model", "text",
                "--load-model", "fp16", "--load-model", "bf16", "--load-model", "labelled") as running:
        running.post("/v2/repository/models/broken/load")
        yield running


def origin_of(server):
    return f"http://127.0.0.1:{server.port}"


def opened_page(server, width=1280, **options):
    return browser.page(width, origin=origin_of(server), **options)


def show(page, server):
    page.goto(origin_of(server) + "/")
    page.wait_for_selector("html[data-ready=yes]", timeout=30000, state="attached")


def keep(page, name):
    if PICTURES:
        page.screenshot(path=pathlib.Path(PICTURES) / f"{name}.png", full_page=True)


def row_of(page, model):
    named = page.locator("span", has_text=re.compile(f"^{model}$"))
    cells = page.locator("#models tbody tr").filter(has=named).first.locator("td")
    return dict(zip(page.locator("#models th").all_text_contents(), cells.all_text_contents(), strict=True))


def send(page):
    page.click("#try button[type=submit]")
    page.wait_for_function("() => document.getElementById('result').childElementCount > 0")
    text = page.locator("#result").text_content()
    page.evaluate("document.getElementById('result').replaceChildren()")
    return text


def picture(red, green, blue):
    """A PNG of one pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(
        [0, red, green, blue]))) + chunk(b"IEND", b"")


def test_models_their_state_and_live_figures(server):
    with opened_page(server) as (page, complaints):
        show(page, server)
        assert row_of(page, "identity")["State"] == "READY" and row_of(page, "identity")["Version"] == "1"
        assert row_of(page, "broken")["State"].startswith("UNAVAILABLE (")
        ended = threading.Event()

        def load():
            while not ended.is_set():
                server.infer("identity", {"inputs": [fp32("x", [4, 16], ROW * 4)]})
        client = threading.Thread(target=load)
        client.start()
        try:
            page.wait_for_function("""() => [...document.querySelectorAll('#models tbody tr')].some(row =>
                row.cells[0].textContent === 'identity' && parseFloat(row.cells[3].textContent) > 0 &&
                row.cells[9].textContent === '4.00 (4)' && row.cells[6].querySelector('path'))""")
            live = row_of(page, "identity")
            keep(page, "light")
        finally:
            ended.set()
            client.join()
        assert re.fullmatch(r"[\d.]+ (µs|ms|s)", live["Latency"]) and re.fullmatch(r"[\d.]+ (µs|ms|s)",
                                                                                   live["Queue time"])
        assert re.fullmatch(r"–|(< )?[\d.]+ %", live["Of the limit"])
        assert re.fullmatch(r"[\d.]+ (µs|ms|s)", live["p99"])
        assert live["Waiting"] in ("0", "1") and live["Failed"] == "0"
        assert page.locator("#chat").is_hidden(), "no language model, no empty box"
        assert complaints == []


def test_a_model_is_tried_with_typed_and_with_random_values(server):
    with opened_page(server) as (page, complaints):
        show(page, server)
        page.select_option("#model", "identity")
        page.wait_for_selector("#input-0-values")
        assert page.input_value("#input-0-shape") == "[1,16]"
        assert "y FP32 [1,16]" in send(page)  # random
        page.fill("#input-0-values", str([ROW]))
        assert "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]" in send(page)
        page.fill("#input-0-values", "[1, 2")
        assert "not JSON" in send(page)
        page.fill("#input-0-shape", "16")
        assert "whole numbers" in send(page)
        page.select_option("#model", "text")
        page.wait_for_selector("#try legend:has-text('BYTES')")
        page.fill("#input-0-values", '["<img src=x onerror=alert(1)>"]')
        assert "<img src=x" in send(page) and page.locator("img").count() == 0
        assert complaints == []


def choose(page, model, values):
    """The page's form for that model, with these values."""
    page.select_option("#model", model)
    page.wait_for_function("name => document.querySelector('#try legend') && document.getElementById('model').value "
                           "=== name", arg=model)
    page.fill("#input-0-values", values)


def test_halves_travel_behind_the_json(server):
    values = "[[0, 1, -2.5, 0.333251953125, 65504, 70000, 6e-8, 1e-45, 3.140625]]"
    with opened_page(server) as (page, complaints):
        show(page, server)
        page.wait_for_selector("#input-0-values")
        choose(page, "fp16", values)
        page.wait_for_selector("#try legend:has-text('FP16')")
        page.fill("#input-0-values", values)
        assert "[0,1,-2.5,0.333252,65504,Infinity,5.96046e-8,0,3.14063]" in send(page)
        page.fill("#input-0-values", "")
        assert "y FP16 [1,9]" in send(page)
        choose(page, "bf16", values)
        page.wait_for_selector("#try legend:has-text('BF16')")
        page.fill("#input-0-values", "[[0, 1, -2.5, 0.333984375, 65536, 1e38, 1e-38, 1e-45, 3.140625]]")
        assert "[0,1,-2.5,0.333984,65536,9.9" in send(page)
        assert complaints == []


def test_scores_are_shown_by_their_labels(server):
    with opened_page(server) as (page, complaints):
        show(page, server)
        page.wait_for_selector("#input-0-values")
        choose(page, "labelled", "[[0.25, 0.5, 2]]")
        page.wait_for_function("() => document.getElementById('input-0-shape').value === '[1,3]'")
        page.fill("#input-0-values", "[[0.25, 0.5, 2]]")
        assert send(page).endswith("y\n2 house: of cards\n0.5 dog\n0.25 cat")
        assert complaints == []


def test_it_says_which_server_it_is(server):
    with opened_page(server) as (page, _):
        show(page, server)
        version = server.get("/v2").json()["version"]
        assert re.fullmatch(re.escape(version) + r" · up \d+ min · CPU (< )?[\d.]+ % · memory [\d.]+ [MG]iB",
                            page.locator("#about").text_content())


def test_an_error_of_the_server_is_shown(server):
    with opened_page(server) as (page, _):
        show(page, server)
        page.select_option("#model", "identity")
        page.wait_for_selector("#input-0-values")
        page.fill("#input-0-values", "[1]")
        assert "needs 16 values" in send(page)


def test_an_image_fills_an_input_of_three_channels(server):
    with opened_page(server) as (page, complaints):
        show(page, server)
        page.select_option("#model", "picture")
        page.wait_for_selector("#input-0-image")
        page.set_input_files("#input-0-image",
                             files=[{"name": "a.png", "mimeType": "image/png", "buffer": picture(255, 0, 51)}])
        text = send(page)
        assert "[1,3,2,4]" in text
        assert "[1,1,1,1,1,1,1,1,0,0,0,0,0,0,0,0,0.2,0.2,0.2,0.2]" in text
        page.select_option("#model", "identity")
        page.wait_for_function("() => document.querySelectorAll('#input-0-image').length === 0")
        assert complaints == []


def test_the_keyboard_suffices(server):
    with opened_page(server) as (page, _):
        show(page, server)
        page.wait_for_selector("#input-0-values")
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.type "
                                         "|| document.activeElement.tagName"))
            if reached[-1] == "submit":
                break
        assert reached[:1] == ["language"] and {"model", "input-0-shape", "input-0-values", "submit"} <= set(reached)
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.getElementById('result').childElementCount > 0")
        # Every field has a name that is read aloud.
        assert page.evaluate("[...document.querySelectorAll('#try input, #try select, "
                             "#try textarea')].every(each => each.labels.length === 1)")


@pytest.mark.parametrize("width,scheme", [(390, "light"), (390, "dark"), (1280, "dark")])
def test_it_fits_and_follows_the_systems_colours(server, width, scheme):
    with opened_page(server, width, color_scheme=scheme) as (page, complaints):
        show(page, server)
        page.wait_for_selector("#input-0-values")
        send(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ("rgb(20, 23, 27)" if scheme
                                                                                    == "dark" else "rgb(255, 255, 255)")
        page.click("#try button[type=submit]")
        page.wait_for_function("() => document.getElementById('result').childElementCount > 0")
        keep(page, f"{scheme}-{width}")
        assert complaints == []


def test_it_speaks_chinese_by_the_browsers_language_and_by_its_switch(server):
    with opened_page(server, locale="zh-CN") as (page, complaints):
        show(page, server)
        page.wait_for_selector("#input-0-values")
        assert page.evaluate("document.documentElement.lang") == "zh-CN"
        texts = page.evaluate(browser.TEXTS.replace("[translate=no], #language",
                                                    "[translate=no], #language, td:nth-child(3)"))
        assert [text for text in texts if browser.ENGLISH.search(text)] == []
        assert [text for text in texts if browser.HALF_WIDTH.search(text)] == []
        assert sum(bool(re.search(browser.CHINESE, text)) for text in texts) >= 10
        keep(page, "chinese")
        page.click("#language")
        assert page.evaluate("document.documentElement.lang") == "en"
        assert page.locator("h2").first.text_content() == "Models"
        assert complaints == []


def test_every_chinese_text_is_said_and_every_said_text_has_one():
    source = (pathlib.Path(os.environ["RIDGE_SOURCE"]) / "src/front/http/page/front.html").read_text()
    table = source[source.index("const kChinese = {"):source.index("};", source.index("const kChinese = {"))]
    rows = re.findall(r"'([^']+)':\s+'([^']+)'", table)
    rest = source.replace(table, "")
    said = set(re.findall(r"say\('([^']+)'\)", rest))
    assert said <= {english for english, _ in rows}
    assert [english for english, _ in rows if f"'{english}'" not in rest
            and english not in ("READY", "LOADING", "UNLOADING", "UNAVAILABLE")] == []


def test_the_page_is_open_and_its_calls_are_not(folder, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("inference  key-of-inference-7d1f\n")
    keys.chmod(0o600)
    with Server(folder, "--model-control-mode", "explicit", "--load-model", "identity", "--keys", keys) as server:
        assert server.get("/").headers["content-type"] == "text/html; charset=utf-8"
        with opened_page(server) as (page, _):
            show(page, server)
            assert "identity" not in page.content()
            page.fill("#key", "key-of-inference-7d1f")
            page.keyboard.press("Enter")
            page.wait_for_selector("#models")
            assert row_of(page, "identity")["State"] == "READY"
            page.wait_for_selector("#input-0-values")
            assert "y FP32 [1,16]" in send(page)
            assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_a_chat_streams_stops_and_says_how_fast_it_was(tmp_path):
    language_models.write(tmp_path / "talker", step_ms=5)
    models.identity(tmp_path / "identity" / "1" / "model.onnx")
    with Server(tmp_path) as server, opened_page(server) as (page, complaints):
        show(page, server)
        assert (page.locator("#chat-model option").all_text_contents() == ["talker"]
                and page.locator("#chat-random").text_content() == "")
        assert "talker" not in page.locator("#model option").all_text_contents()
        page.fill("#chat-text", "x" * 5000)
        page.press("#chat-text", "Enter")
        page.wait_for_selector("#chat-figures [role=alert]")  # the prompt is too long
        assert page.locator("#said .said").count() == 0 and page.input_value("#chat-text") == "x" * 5000
        assert complaints == [complaint for complaint in complaints if "400" in complaint]
        complaints.clear()
        hello = "Hell" + "o" * 200
        page.fill("#chat-text", hello)
        page.press("#chat-text", "Enter")
        page.wait_for_function("() => /tokens\\/s/.test(document.getElementById('chat-figures').textContent)")
        assert page.locator("#said .said").first.text_content() == hello
        page.click("#chat-stop", force=True)
        page.wait_for_function("() => !document.querySelector('#chat button[type=submit]').disabled")
        assert page.locator("#said .said").nth(1).text_content()
        page.wait_for_function("() => parseFloat(document.querySelector('#texts "
                               "td[data-label=\"tokens/s\"]').textContent) > 0")
        page.wait_for_function("() => document.querySelector('#texts td[data-label=Running]').textContent === '0'")
        live = {cell: page.locator(f"#texts td[data-label='{cell}']").text_content()
                for cell in ("Failed", "First token", "p99", "Per token", "Waiting", "Cache")}
        assert live["Failed"] == "0", "a stopped answer is no failure"
        assert live["Waiting"] == "0" and re.fullmatch(r"(< )?[\d.]+ %", live["Cache"])
        assert page.locator("#texts svg path").count() >= 1
        keep(page, "front-chat")
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 390  # words without end are broken
        page.click("#language")
        assert page.locator("#chat h2").text_content() == "对话" and page.locator("#said .said").count() == 2
        page.click("#chat-new")
        assert page.locator("#said .said").count() == 0
        assert complaints == []


MARKDOWN = """# Heading
Some **bold**, *slanted* and `code`, [a link](https://example.org/a?b=1).

- one
- two <img src=x onerror=alert(1)>

1. first

```python
if a < b:
    **no bold**
```
<script>document.title = "taken"</script> and [no link](javascript:alert(1))"""


def scripted(page, text, asked):
    """Answers of the page's chat are `text`; what was asked is appended to `asked`."""
    events = [{"choices": [{"delta": {"content": text[at:at + 7]}}], "usage": {"completion_tokens": 1 + at // 7}}
              for at in range(0, len(text), 7)]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"

    def answer(route):
        asked.append(route.request.post_data_json)
        route.fulfill(status=200, content_type="text/event-stream", body=body)
    page.route("**/v1/chat/completions", answer)


def test_a_chat_has_settings_markdown_a_retry_and_survives_a_reload(tmp_path):
    language_models.write(tmp_path / "talker")
    config = tmp_path / "talker" / "1" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"ridge_make": {"model": "llama-90m"}}))
    with Server(tmp_path) as server, opened_page(server, color_scheme="dark") as (page, complaints):
        show(page, server)
        assert page.locator("#chat-random").text_content().startswith("Random weights")
        asked = []
        scripted(page, MARKDOWN, asked)
        assert page.locator("#try").is_hidden(), "no other model, no empty box"
        page.click("#settings summary")
        page.fill("#chat-system", "Be brief.")
        page.fill("#chat-temperature", "0.3")
        page.fill("#chat-max_tokens", "50")
        page.fill("#chat-seed", "7")
        page.fill("#chat-text", "Hello")
        page.press("#chat-text", "Enter")
        page.wait_for_selector("#said .said button")
        expected = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
        assert asked[0]["messages"] == expected and (asked[0]["temperature"], asked[0]["max_tokens"],
                                                     asked[0]["seed"]) == (0.3, 50, 7)
        line = page.locator("#said .said").nth(1)
        assert [line.locator(tag).first.text_content()
                for tag in ("h4", "strong", "em", "p code", "ol li", "pre code")] == \
            ["Heading", "bold", "slanted", "code", "first", "if a < b:\n    **no bold**"]
        assert line.locator("ul li").all_text_contents() == ["one", "two <img src=x onerror=alert(1)>"]
        assert line.locator("a").evaluate_all("all => all.map(each => each.href)") == ["https://example.org/a?b=1"]
        assert page.locator("#said img, #said script").count() == 0 and page.title() == "ridge serve"
        keep(page, "front-markdown")
        page.click("#chat-again")
        page.wait_for_function("() => !document.getElementById('chat-again').disabled")
        assert asked[1]["messages"] == expected and page.locator("#said .said").count() == 2
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        line.locator("button").click()
        page.wait_for_function("() => navigator.clipboard.readText().then(text => text.startsWith('# Heading'))")
        page.reload()
        page.wait_for_selector("#said .said pre")
        assert page.locator("#said .said").count() == 2 and page.input_value("#chat-seed") == "7"
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        keep(page, "front-markdown-390")
        page.click("#chat-new")
        page.reload()
        page.wait_for_selector("#chat-text")
        assert page.locator("#said .said").count() == 0
        assert complaints == []
