#!/usr/bin/env bash
# "I operate the server": the commands of docs/guides/deployment.md. Readiness, metrics, a new version under load, a
# drain under load.
source "$RIDGE_SOURCE/tests/support/path.sh"

mkdir -p models/model/1 && cp model.onnx models/model/1/
ridge serve models --model-control-mode=explicit --load-model=model &
server=$!
curl --retry 30 --retry-connrefused --retry-all-errors -f localhost:8000/v2/health/ready

"$python" -c 'import json
image = {"name": "image", "datatype": "FP32", "shape": [1,3,32,32], "data": [1] * 3072}
print(json.dumps({"inputs": [image]}))' > request.json

# load NAME: requests one after the other until NAME.stop exists or no connection is accepted; NAME.log gets a line
# "STATUS version" each.
load() {
  local answer status
  while [ ! -e "$1.stop" ]; do
    status=0
    answer=$(curl -w '\n%{http_code}' localhost:8000/v2/models/model/infer -d @request.json 2>>"$1.err") || status=$?
    # Refused; or reset, as it was still in the kernel's queue when the server closed its port.
    case "$status" in 7 | 56) break ;; esac
    [ "$status" = 0 ] || answer="curl ended with $status"
    echo "${answer##*$'\n'} $(grep -o '"model_version":"[0-9]*"' <<<"$answer")" >>"$1.log"
  done
}
# until_has FILE PATTERN: waits until five lines of the file have it.
until_has() {
  until [ "$(grep -s -- "$2" "$1" | wc -l)" -ge 5 ]; do
    kill -0 "$server" || fail "the server ended"
    sleep 0.05
  done
}
load reload &
loading=$!
until_has reload.log '200 "model_version":"1"'

# A new version beside the old one; the server answers with it as soon as it is loaded, and with the old one until then.
mkdir models/model/2 && cp model.onnx models/model/2/
curl -X POST localhost:8000/v2/repository/models/model/load
curl localhost:8000/v2/models/model/versions/2/ready -f
until_has reload.log '200 "model_version":"2"'

# And back to the first one.
rm -r models/model/2
curl -X POST localhost:8000/v2/repository/models/model/load
sed -i 's/^/before: /' reload.log
until_has reload.log '^200 "model_version":"1"'
touch reload.stop
wait "$loading"
if grep -v '^200 \|^before: 200 ' reload.log; then fail "a request was not answered during the reload"; fi

curl localhost:8000/metrics | grep '^nv_inference_request_success{model="model",version="1"} [1-9]' >&2
curl localhost:8000/metrics | grep '^nv_inference_request_latency_seconds_bucket{model="model",version="1"' >&2
curl localhost:8000/v2/models/model/stats | grep '"version":"1"' >&2
curl -X POST localhost:8000/v2/repository/index | grep '"state":"READY"' >&2

# Load from ridge's own client: at a rate, and over the number of connections.
ridge bench http://localhost:8000/v2/models/model --rate 50 --seconds 2 >&2
ridge bench http://localhost:8000/v2/models/model --concurrency 1..4 --seconds 3 >&2

# A drain: what was accepted is answered, and the exit status is 0.
load drain &
loading=$!
until_has drain.log '^200 '
kill -TERM "$server"
exits 0 wait "$server"
wait "$loading"
if grep -v '^200 \|^503 ' drain.log; then fail "a request was lost in the drain"; fi

# TLS and keys, of a server that takes its place.
rm ports.json
umask 077
key=$(openssl rand -hex 32)
printf '%s\n' "inference $key" "control $(openssl rand -hex 32)" 'metrics *' >keys.txt
openssl req -x509 -newkey rsa:2048 -nodes -keyout server.key -out server.pem -days 365 \
  -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>openssl.log
ridge serve models --keys=keys.txt --tls-cert=server.pem --tls-key=server.key &
secure=$!
curl --retry 30 --retry-connrefused --retry-all-errors -f --cacert server.pem \
  https://localhost:8000/v2/health/ready
curl -f --cacert server.pem -H "Authorization: Bearer $key" \
  https://localhost:8000/v2/models/model
[ "$(curl -o refused -w '%{http_code}' --cacert server.pem https://localhost:8000/v2/models/model)" = 401 ] ||
  fail "a client without a key was not refused"
curl --cacert server.pem https://localhost:8000/metrics | grep '^nv_inference_request_success' >&2
kill -TERM "$secure"
exits 0 wait "$secure"
