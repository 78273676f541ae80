#!/bin/sh
# run_fuzz.sh TARGET CORPUS [SECONDS]: replays the seeds in CORPUS, then lets libFuzzer look for more for so long, or
# for five seconds. The seeds are not touched. Exit 77 (skipped) when the target was not built: ./dev test builds it,
# with clang, in the fuzz preset.
target=$1 corpus=$2 seconds=${3:-5}
if [ ! -x "$target" ]; then
  echo "skipped: $target is not built (./dev test builds it)"
  exit 77
fi
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
[ -d "$corpus" ] || corpus=
"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$found/" "$found" $corpus
status=$?
for file in "$found"/crash-* "$found"/timeout-* "$found"/oom-*; do
  [ -f "$file" ] && echo "input that shows it ($(basename "$file")), base64:" && base64 "$file"
done
exit "$status"
