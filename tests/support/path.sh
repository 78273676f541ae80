# Sourced by tests/paths/*.sh: the commands of docs/guides, as they stand there, in an empty folder with a small image
# classifier as model.onnx. What differs is below: a port that is free instead of 8000, and the machine's limits kept
# beside the build.
#
# Environment: RIDGE, RIDGE_SOURCE, RIDGE_DEPS, as CMake sets them.
set -euo pipefail
export XDG_CACHE_HOME=$PWD/test-cache
python=$RIDGE_DEPS/python/bin/python
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
cd "$folder"
PYTHONPATH=$RIDGE_SOURCE/tests/support "$python" \
  -c 'import models, pathlib; models.classifier(pathlib.Path("model.onnx"))'

ridge() {
  if [ "$1" = serve ]; then exec "$RIDGE" "$@" --http-port 0 --grpc-port 0 --metrics-port 0 --port-file ports.json; fi
  case "$*" in *localhost:8000*) set -- "${@//localhost:8000/localhost:$(port)}" ;; esac
  "$RIDGE" "$@"
}

# The server's port, once it is open.
port() {
  while [ ! -s ports.json ]; do
    [ -n "$(jobs -pr)" ] || fail "the server ended before it opened a port"
    sleep 0.1
  done
  sed 's/.*"http":\([0-9]*\).*/\1/' ports.json
}

curl() { command curl -sS "${@//localhost:8000/localhost:$(port)}"; }

python3() { sed "s/localhost:8000/localhost:$(port)/" "$1" >"$1.here" && "$python" "$1.here" "${@:2}"; }

# exits STATUS COMMAND...
exits() { one_of "$@"; }

# one_of "STATUS STATUS" COMMAND...
one_of() {
  local expected=$1 status=0
  shift
  "$@" || status=$?
  case " $expected " in *" $status "*) ;; *) fail "exit status $status instead of $expected: $*" ;; esac
}

fail() { echo "FAILED: $*" >&2; exit 1; }
