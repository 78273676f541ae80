"""Questions to ridge's tokenizer and chat templates (tests/support/text_answers.cc)."""

import json
import os
import pathlib
import subprocess

PROGRAM = pathlib.Path(os.environ["RIDGE_TEST_SUPPORT"]) / "text_answers"


def ask(questions, tokenizer=None):
    """The answers to `questions`, in order; `tokenizer` is the path of a tokenizer.json."""
    command = [PROGRAM] + ([tokenizer] if tokenizer else [])
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run(command, input=lines.encode(), capture_output=True)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]
