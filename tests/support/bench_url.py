"""`ridge bench URL`, started as a user would."""

import json
import subprocess

import schemas
from server import RIDGE


def bench(url, *arguments, timeout=120):
    return subprocess.run([RIDGE, "bench", url, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)


def measured(url, *arguments, exit=0):
    """The document, which its schema allows."""
    done = bench(url, *arguments, "--json")
    assert done.returncode == exit, done.stderr
    result = json.loads(done.stdout)
    assert not schemas.errors_of("bench-server", result)
    return result


def url_of(server, model, scheme="http"):
    return f"{scheme}://127.0.0.1:{server.ports[scheme]}/v2/models/{model}"
