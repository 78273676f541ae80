"""ctest: timeout 120

OpenAI's API by its own client, unmodified, against a language model of the fake engine: whole answers, streams, errors,
clients that leave; and against small encoders: embeddings beside a computation in numpy.
"""

import asyncio
import importlib.util
import json
import re
import signal

import pytest

import numpy as np

import language_models
import models
from server import Server, wait_until

if importlib.util.find_spec("openai") is None:
    pytest.skip("openai is not installed: ./dev setup brings it", allow_module_level=True)
import openai


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("texts")
    language_models.write(root / "fast")
    language_models.write(root / "slow", step_ms=20)
    write_encoder(root / "mean", {"tokenizer_config.json": {"model_max_length": 40}})
    write_encoder(root / "first",
                  {"1_Pooling/config.json": {"word_embedding_dimension": 6, "pooling_mode_cls_token": True,
                                             "pooling_mode_mean_tokens": False}})
    write_encoder(root / "bert", {"tokenizer.json": BERT}, SEGMENTS)
    write_encoder(root / "unigram", {"tokenizer.json": {"model": {"type": "Unigram"}}})
    return root


TABLE = np.random.default_rng(5).normal(size=(language_models.END + 1, 6)).astype(np.float32)


SEGMENTS = np.array([[3, 2, 1, 0, 0, 0], [9, 9, 9, 9, 9, 9]], np.float32)
BERT = {"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
        "model": {"type": "WordPiece",
                  "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "hello": 3, "world": 4, "##s": 5, "!": 6}}}


def write_encoder(folder, files, segments=None):
    models.encoder(folder / "1" / "model.onnx", TABLE, segments)
    for name, content in ({"tokenizer.json": language_models.tokenizer()} | files).items():
        (folder / "1" / name).parent.mkdir(exist_ok=True)
        (folder / "1" / name).write_text(json.dumps(content))


def vectors(texts, pool, table=TABLE):
    """Vectors of lists of tokens, as models.encoder has them."""
    found = []
    for tokens in texts:
        rows = table[tokens]
        pooled = pool(rows + rows.mean(axis=0))
        found.append(pooled / np.linalg.norm(pooled))
    return np.array(found)


@pytest.fixture(scope="module")
def server(folder):
    with Server(folder) as running:
        yield running


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0) as found:
        yield found


def asynchronous(server):
    return openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)


HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}
EXACT = {"temperature": 0, "extra_body": {"ignore_eos": True}}


def running(server):
    lines = [line for line in server.metrics().splitlines()
             if line.startswith(("vllm:num_requests_running{", "vllm:num_requests_waiting{"))]
    assert len(lines) == 4, lines
    return sum(float(line.split()[-1]) for line in lines)


def test_models_are_listed(client):
    assert sorted(model.id for model in client.models.list()) == ["bert", "fast", "first", "mean", "slow"]
    assert (client.models.retrieve("mean").max_model_len, client.models.retrieve("mean").task) == (40, "embed")
    model = client.models.retrieve("fast")
    assert (model.object, model.owned_by) == ("model", "ridge") and model.max_model_len > 0
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("none")


def test_a_stream_is_the_whole_answer_in_pieces(client):
    whole = client.completions.create(model="fast", prompt="Once upon", max_tokens=20, **EXACT)
    assert whole.usage.completion_tokens == 20 and whole.usage.prompt_tokens == len("Once upon")
    assert whole.choices[0].finish_reason == "length" and len(whole.choices[0].text) == 20
    text, usage = "", None
    for chunk in client.completions.create(model="fast", prompt="Once upon", max_tokens=20, stream=True,
                                           stream_options={"include_usage": True}, **EXACT):
        text += "".join(choice.text for choice in chunk.choices)
        usage = chunk.usage or usage
    assert text == whole.choices[0].text
    assert usage.model_dump(exclude_none=True) == whole.usage.model_dump(exclude_none=True)


def test_a_chat_goes_by_the_template(client, server):
    whole = client.chat.completions.create(model="fast", messages=HELLO, max_completion_tokens=10, **EXACT)
    assert whole.choices[0].message.role == "assistant"
    prompt = "user:Hello;>"
    assert whole.usage.prompt_tokens == len(prompt)
    assert client.completions.create(model="fast", prompt=prompt, max_tokens=10,
                                     **EXACT).choices[0].text == whole.choices[0].message.content
    chunks = list(client.chat.completions.create(model="fast", messages=HELLO, max_completion_tokens=10, stream=True,
                                                 **EXACT))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["length"]
    tokens = server.post("/tokenize", {"model": "fast", "messages": HELLO}).json()
    assert tokens["count"] == len(prompt)
    assert server.post("/detokenize", {"model": "fast", "tokens": tokens["tokens"]}).json() == {"prompt": prompt}


def test_several_choices_stops_and_logprobs(client):
    answer = client.completions.create(model="fast", prompt=["a", "b"], n=2, max_tokens=8, seed=7, logprobs=3)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    for choice in answer.choices:
        assert len(choice.logprobs.tokens) == len(choice.logprobs.token_logprobs) == len(choice.logprobs.top_logprobs)
        assert all(3 <= len(top) <= 4 for top in choice.logprobs.top_logprobs)
    again = client.completions.create(model="fast", prompt=["a", "b"], n=2, max_tokens=8, seed=7)
    assert [choice.text for choice in again.choices] == [choice.text for choice in answer.choices]
    whole = client.completions.create(model="fast", prompt="stop", max_tokens=20, **EXACT).choices[0].text
    stop = whole[5:7]
    cut = client.completions.create(model="fast", prompt="stop", max_tokens=20, stop=[stop], **EXACT).choices[0]
    assert (cut.text, cut.finish_reason) == (whole[: whole.index(stop)], "stop")
    chat = client.chat.completions.create(model="fast", messages=HELLO, max_tokens=4, logprobs=True, top_logprobs=2,
                                          **EXACT).choices[0]
    assert "".join(token.token for token in chat.logprobs.content) == chat.message.content
    assert all(len(token.top_logprobs) == 2 and token.top_logprobs[0].logprob >= token.logprob - 1e-6
               for token in chat.logprobs.content)


def test_a_prompt_is_scored_beside_the_likeliest_tokens(client):
    prompt = "Once upon"
    scored = client.completions.create(model="fast", prompt=prompt, max_tokens=0, echo=True, logprobs=1)
    choice = scored.choices[0]
    assert (choice.text, choice.finish_reason, scored.usage.completion_tokens) == (prompt, "length", 0)
    tops = choice.logprobs.top_logprobs
    assert choice.logprobs.tokens == list(prompt) and tops[0] is None
    for i in range(1, len(prompt)):  # as lm-eval asks whether a token is the greedy one
        likeliest = client.completions.create(model="fast", prompt=prompt[:i], max_tokens=1, logprobs=0,
                                              **EXACT).choices[0].logprobs
        assert max(tops[i], key=tops[i].get) == likeliest.tokens[0]
        assert max(tops[i].values()) == pytest.approx(likeliest.token_logprobs[0], abs=1e-4)
        assert tops[i][prompt[i]] == choice.logprobs.token_logprobs[i]
    assert client.completions.create(model="fast", prompt=prompt,
                                     extra_body={"max_completion_tokens": 3,
                                                 "ignore_eos": True}).usage.completion_tokens == 3


def test_tools_are_shown_to_the_model(client):
    without = client.chat.completions.create(model="fast", messages=HELLO, max_tokens=1, **EXACT).usage.prompt_tokens
    for choice, shown in {"auto": True, "required": True, "none": False}.items():
        answer = client.chat.completions.create(model="fast", messages=HELLO, tools=[TOOL], tool_choice=choice,
                                                max_tokens=1, **EXACT)
        assert answer.usage.prompt_tokens == without + (len("weather ") if shown else 0), choice


NUMBER_TOOL = {"type": "function", "function": {"name": "square", "parameters": {
    "type": "object", "required": ["side"], "properties": {"side": {"type": "integer", "minimum": 1, "maximum": 99}}}}}
CALENDAR_TOOL = {"type": "function", "function": {"name": "today"}}


def called(calls):
    """The called function and its arguments, which its parameters allow."""
    for call in calls:
        arguments = json.loads(call.function.arguments)
        assert (arguments == {} if call.function.name == "today" else list(arguments) == ["side"]
                and 1 <= arguments["side"] <= 99)
    assert len({call.id for call in calls}) == len(calls)
    return [call.function.name for call in calls]


@pytest.mark.parametrize("choice, parallel, names",
                         [("required", True, {"square", "today"}), ("required", False, {"square", "today"}),
                                                     ({"type": "function", "function": {"name": "square"}}, True,
                                                      {"square"})])
def test_a_call_can_be_demanded(client, choice, parallel, names):
    ask = lambda **more: client.chat.completions.create(model="fast", messages=HELLO,
                                                        tools=[NUMBER_TOOL, CALENDAR_TOOL], tool_choice=choice,
                                                        parallel_tool_calls=parallel, max_tokens=2000, **more)
    seen, most = set(), 0
    for seed in range(12):
        answer = ask(seed=seed).choices[0]
        assert (answer.finish_reason, answer.message.content) == ("tool_calls", None)
        seen.update(called(answer.message.tool_calls))
        most = max(most, len(answer.message.tool_calls))
    assert seen == names and (most > 1) == (choice == "required" and parallel)
    deltas = [choice for chunk in ask(seed=3, stream=True) for choice in chunk.choices]
    streamed = [call for choice in deltas for call in choice.delta.tool_calls or []]
    whole = ask(seed=3).choices[0].message.tool_calls
    assert [(call.index, call.function.arguments) for call in streamed] == [(i, call.function.arguments) for i,
                                                                            call in enumerate(whole)]
    assert called(streamed) == called(whole) and deltas[-1].finish_reason == "tool_calls"


def test_errors_are_what_the_client_expects(client):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="none", messages=HELLO)
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError) as wrong:
        client.completions.create(model="fast", prompt="a", temperature=-1)
    assert wrong.value.param == "temperature" and "temperature" in wrong.value.body["message"]
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="fast", prompt="a", suffix="b")
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="fast", prompt="x" * 500_000)


def test_a_stream_that_is_closed_ends_its_generation(client, server):
    stream = client.completions.create(model="slow", prompt="a", max_tokens=400, stream=True, **EXACT)
    next(iter(stream))
    assert running(server) == 1
    stream.close()
    wait_until(lambda: running(server) == 0, 5)  # all of it takes 8 s


def test_an_answer_keeps_to_its_schema(client):
    schema = {"type": "object", "required": ["count", "kind"], "additionalProperties": False,
              "properties": {"count": {"type": "integer", "minimum": 3, "maximum": 4000},
                             "kind": {"enum": ["wide", "long"]}}}
    ask = lambda **more: client.chat.completions.create(
        model="fast", messages=[{"role": "user", "content": "x"}], max_tokens=200, **more, response_format=
        {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}})
    for seed in range(5):
        choice = ask(seed=seed).choices[0]
        value = json.loads(choice.message.content)
        assert choice.finish_reason == "stop" and list(value) == ["count", "kind"]
        assert 3 <= value["count"] <= 4000 and value["kind"] in ("wide", "long")
    schema["properties"]["kind"] = {"type": "string", "pattern": "^[A-F]{2}-(in|out)$"}
    assert re.fullmatch("[A-F]{2}-(in|out)", json.loads(ask().choices[0].message.content)["kind"])
    schema["properties"]["kind"]["pattern"] = "(?=a)"
    with pytest.raises(openai.BadRequestError, match="pattern"):
        ask()


def test_many_streams_at_the_same_time(server):
    async def one(client, i):
        stream = await client.chat.completions.create(model="fast",
                                                      messages=[{"role": "user", "content": f"Number {i}"}],
                                                      max_tokens=30, stream=True, **EXACT)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def all_of_them():
        async with asynchronous(server) as client:
            together = await asyncio.gather(*(one(client, i) for i in range(20)))
            return together, [await one(client, i) for i in range(20)]

    together, alone = asyncio.run(all_of_them())
    assert together == alone
    assert len(set(together)) == 20 and max(map(len, together)) == 30  # END, which ignore_eos lets pass, has no text


def test_a_server_that_ends_lets_streams_finish(folder):
    with Server(folder) as ending, openai.OpenAI(base_url=f"http://127.0.0.1:{ending.port}/v1", api_key="none",
                                                 max_retries=0) as client:
        chunks = iter(client.completions.create(model="slow", prompt="a", max_tokens=50, stream=True, **EXACT))
        text = next(chunks).choices[0].text
        ending.process.send_signal(signal.SIGTERM)
        rest = list(chunks)
        assert rest[-1].choices[0].finish_reason == "length" and len(text) + sum(len(chunk.choices[0].text)
                                                                                 for chunk in rest) >= 45
        assert ending.process.wait(20) == 0


@pytest.mark.parametrize("model, pool", [("mean", lambda rows: rows.mean(axis=0)), ("first", lambda rows: rows[0])])
def test_embeddings_are_what_the_model_computes(client, server, model, pool):
    texts = ["a", "Hello", "Hello there, encoder", "ab", "abc", "x" * 40, "Good morning", "9"]
    tokens = [[ord(c) - 32 for c in text] for text in texts]
    answer = client.embeddings.create(model=model, input=texts)  # in base64, which is the client's own choice
    found = np.array([row.embedding for row in answer.data])
    assert [row.index for row in answer.data] == list(range(len(texts))) and answer.model == model
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == sum(map(len, texts))
    assert np.abs(found - vectors(tokens, pool)).max() < 1e-6
    as_numbers = client.embeddings.create(model=model, input=tokens, encoding_format="float", user="me")
    assert np.array_equal(np.float32([row.embedding for row in as_numbers.data]), np.float32(found))
    assert client.embeddings.create(model=model,
                                    input=tokens[1]).data == client.embeddings.create(model=model, input="Hello").data
    short = np.array([row.embedding for row in client.embeddings.create(model=model, input=texts, dimensions=3).data])
    assert np.abs(short - found[:, :3] / np.linalg.norm(found[:, :3], axis=1, keepdims=True)).max() < 1e-6
    statistics = server.get(f"/v2/models/{model}/stats").json()["model_stats"][0]
    assert statistics["inference_count"] == 3 * len(texts) + 2 and statistics["inference_stats"]["fail"]["count"] == 0


def test_a_bert_gets_its_words_and_segments(client):
    answer = client.embeddings.create(model="bert", input=["Hello w\u00f6rlds!", "hello x"])
    expected = vectors([[1, 3, 4, 5, 6, 2], [1, 3, 0, 2]], lambda rows: rows.mean(axis=0), TABLE + SEGMENTS[0])
    assert np.abs(np.array([row.embedding for row in answer.data]) - expected).max() < 1e-6
    assert answer.usage.prompt_tokens == 10


def test_what_cannot_be_embedded_is_refused(client):
    def refused(param, *said, error=openai.BadRequestError, **request):
        with pytest.raises(error) as wrong:
            client.embeddings.create(**({"model": "mean", "input": "a"} | request))
        assert wrong.value.param == param and all(each in wrong.value.body["message"] for each in said), wrong.value

    refused("input", "more than 40 tokens", input=["a", "x" * 41])
    refused("input", "no tokens", input="")
    refused("input", "token 96", "0 to 95", input=[1, 96])
    refused("dimensions", "7", "6", dimensions=7)
    refused("encoding_format", encoding_format="int8")
    refused("model", "language models", model="fast")
    refused("model", "no embeddings: tokenizer.json", "Unigram", model="unigram")
    refused("model", model="none", error=openai.NotFoundError)
    with pytest.raises(openai.BadRequestError, match="/v1/embeddings"):
        client.completions.create(model="mean", prompt="a")
