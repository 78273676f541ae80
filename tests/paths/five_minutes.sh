#!/usr/bin/env bash
# "I have a model and five minutes": the commands of docs/guides/your-model.md, from the file to an answer over HTTP.
source "$RIDGE_SOURCE/tests/support/path.sh"

ridge model.onnx | grep "inputs.*image FP32"
ridge plan model.onnx | grep "^bound"
ridge bench model.onnx --seconds 3 | grep "^share of the limit"
ridge bench model.onnx --batch 8 --layers --seconds 3 | grep "^classify  *Gemm"

ridge tune model.onnx -o repo --seconds 5 | grep "^written: repo/model/1"
[ -s repo/model/config.pbtxt ] || fail "no config.pbtxt"

ridge serve repo &
curl --retry 30 --retry-connrefused --retry-all-errors -f localhost:8000/v2/health/ready
curl localhost:8000/v2/models/model | grep '"name":"image","datatype":"FP32","shape":\[-1,3,32,32\]'

cp "$RIDGE_SOURCE/docs/examples/client.py" .
python3 client.py | grep "^class [0-9]$"
curl localhost:8000/metrics | grep nv_inference_request_success | grep ' 1$'
kill %1
wait %1
