#!/usr/bin/env bash
# "What is there?": the commands of docs/guides/tour.md and README.md, verb by verb.
source "$RIDGE_SOURCE/tests/support/path.sh"
mv model.onnx resnet50.onnx

ridge bench device | grep "^DRAM .*measured"
ridge explain "Xid 79" | grep "^XID 79"

# What assistants read is JSON (AGENTS.md).
is_json() { "$python" -c 'import json, sys; assert json.load(sys.stdin)["about"]'; }
ridge plan resnet50.onnx --json | is_json
ridge bench resnet50.onnx --json --seconds 2 | is_json
ridge explain "Xid 79" --json | is_json

ridge resnet50.onnx | grep "^inputs"
ridge plan resnet50.onnx | grep "^at most"
ridge bench resnet50.onnx --layers --seconds 2 | grep "^share of the limit"
ridge tune resnet50.onnx -o repo --seconds 4 | grep "^written: repo/resnet50/1"

ridge make identity -o repo/identity/1/model.onnx
ridge serve repo &
curl --retry 30 --retry-connrefused --retry-all-errors -f localhost:8000/v2/health/ready
curl localhost:8000/v2/models/identity/infer -d '{"inputs":[{"name":"x","shape":[1,16],
  "datatype":"FP32","data":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}]}' | grep '"data":\[1.0,2.0,.*,16.0\]'
ridge bench http://localhost:8000/v2/models/resnet50 -c 1..32 --seconds 1 | grep "^callers"
kill %1
wait %1
