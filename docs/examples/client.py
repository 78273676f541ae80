"""client.py: sends one image to a model served by ridge, and prints the best class."""

import json
import urllib.request

URL = "http://localhost:8000/v2/models/model/infer"

image = [0.5] * (3 * 32 * 32)  # your pixels, ordered as in training: channels, rows, columns
tensor = {"name": "image", "shape": [1, 3, 32, 32], "datatype": "FP32", "data": image}
request = json.dumps({"inputs": [tensor]}).encode()
with urllib.request.urlopen(URL, request) as answer:
    scores = json.load(answer)["outputs"][0]["data"]
print("class", scores.index(max(scores)))
