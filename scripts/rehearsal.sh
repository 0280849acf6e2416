#!/bin/sh
# A newcomer's first minutes, rehearsed: clones this repository into a temporary folder, does what README.md says under
# "Install" and its first command, in an environment without this one's packages and caches, and prints the wall-clock
# times. What pip downloads comes from the index that it is set up for. Wants two quiet cores: sh scripts/rehearsal.sh
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset PYTHONPATH VIRTUAL_ENV JAX_COMPILATION_CACHE_DIR || true
export XDG_CACHE_HOME="$place/cache" PIP_NO_CACHE_DIR=1

steps=$(awk '/^## Install/ {on = 1} on && /^```sh/ {code = 1; next} on && /^```$/ {exit} code' "$here/README.md")
first=$(awk '/^\*\*1\. / {on = 1} on && /^```sh/ {code = 1; next} on && /^```$/ {exit} code' "$here/README.md")
whole=$(printf '%s\n%s\n' "$steps" "$first" | sed "s|ADDRESS|$here|")

begun=$(date +%s)
last=$begun
cd "$place"
printf '%s\n' "$whole" > steps.sh
while IFS= read -r line <&3; do
  printf '$ %s\n' "$line" | sed "s|$here|ADDRESS|; s|$place|.|g"
  eval "$line" > "$place/out.txt" 2>&1 || { cat "$place/out.txt"; exit 1; }
  case $line in wocar*) grep -v '\[[0-9,]*/[0-9,]*' "$place/out.txt" ;; esac
  now=$(date +%s)
  echo "# $((now - last)) s"
  last=$now
done 3< steps.sh
echo "# clone to first audited agent: $((last - begun)) s, on $(nproc) cores with a load of $(cut -d' ' -f1 /proc/loadavg)"
