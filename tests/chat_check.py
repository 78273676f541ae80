"""chat_check.py: the end of the main job with a language model: serves its folder and chats with it.

--check  sends one conversation, whole and as a stream, prints the answer, stops the server, and fails if the two
differ. --serve  sends one, prints it with the line that sends it again, and serves until Ctrl-C.
"""

import argparse
import http.client
import json
import pathlib
import signal
import sys

from client_check import Server, free_port


def chat(port, model, **more):
    """The body of the answer to one conversation, drawn without chance."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    request = {"model": model, "messages": [{"role": "user", "content": "What limits decoding?"}], "max_tokens": 24,
               "temperature": 0}
    connection.request("POST", "/v1/chat/completions", json.dumps(request | more), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read().decode()
    if response.status != 200:
        raise SystemExit(f"POST /v1/chat/completions: {response.status} {body}")
    return body


def text_of_stream(body):
    events = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    if not events or events.pop() != "[DONE]":
        raise SystemExit(f"the stream does not end with [DONE]:\n{body}")
    return "".join(choice["delta"].get("content") or "" for event in events for choice in json.loads(event)["choices"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ridge", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    model = options.folder.name
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))

    server = Server(options.ridge, options.folder, free_port(8000) if options.serve else 0)
    try:
        answer = json.loads(chat(server.port, model))
        text, usage = answer["choices"][0]["message"]["content"], answer["usage"]
        streamed = text_of_stream(chat(server.port, model, stream=True))
        if streamed != text:
            raise SystemExit(f"check failed: the stream says {streamed!r}, the whole answer {text!r}")
        print(f"check passed: {model}: {usage['prompt_tokens']} tokens asked, {usage['completion_tokens']} answered, "
              f"streamed the same: {text!r}", flush=True)
        if options.serve:
            print(f"curl localhost:{server.port}/v1/chat/completions -H 'Content-Type: application/json' "
                  f"-d '{{\"model\":\"{model}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}],"
                  f"\"max_tokens\":32}}'", flush=True)
            server.process.wait()
    except KeyboardInterrupt:
        pass
    finally:
        status = server.stop()
    sys.exit(status)


if __name__ == "__main__":
    main()
