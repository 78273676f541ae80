#!/usr/bin/env bash
# "I run this in CI": the commands of docs/guides/ci.md. Each gate passes on a model that is as it was, and fails on one that is not.
source "$RIDGE_SOURCE/tests/support/path.sh"

# Once, on the runner: the result to compare with.
ridge tune model.onnx -o baseline --seconds 5 | grep "^written: baseline/model/1"

# The gates that need no measurement.
exits 0 ridge plan model.onnx --memory --memory-limit 256MiB
exits 1 ridge plan model.onnx --memory --memory-limit 1MiB
exits 0 ridge plan model.onnx --service-ms 2 --rps 200 --p99-ms 50
exits 1 ridge plan model.onnx --service-ms 80 --rps 200 --p99-ms 50

# The gate that measures: as it was, and against a recorded result that this machine does not reach.
exits 0 ridge tune model.onnx --compare baseline/model --tolerance 10
"$python" - <<'END'
import json, math, pathlib
file = pathlib.Path("baseline/model/tuning.json")
result = json.loads(file.read_text())
rounds = result["rounds"]
rounds["rows_per_s"] = [100 * rate for rate in rounds["rows_per_s"]]
rounds["gain_ln"] = [math.log(100) + gain for gain in rounds["gain_ln"]]
file.write_text(json.dumps(result))
END
exits 1 ridge tune model.onnx --compare baseline/model --tolerance 10

# A budget of one's own, on the figures of --json.
ridge bench model.onnx --seconds 3 --json > bench.json
"$python" -c 'import json, sys; sys.exit(json.load(open("bench.json"))["latency_ms"]["p50"] > 1000)'

# Two kept results side by side. Which answer depends on the machine: as before (0), worse (1), or not judged because it was busy (3).
ridge bench model.onnx --seconds 2 -o before.json
ridge bench model.onnx --seconds 2 -o now.json
status=0
ridge compare before.json now.json --fail-above 50 || status=$?
case $status in 0 | 1 | 3) ;; *) fail "exit status $status: ridge compare" ;; esac

# A model that is none.
echo "version https://git-lfs.github.com/spec/v1" > pointer.onnx
exits 3 ridge bench pointer.onnx
exits 2 ridge bench model.onnx --batch none
