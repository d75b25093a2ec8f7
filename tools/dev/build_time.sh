#!/usr/bin/env bash
# Where the time of a build went, from the log that ninja keeps: by folder and by kind of step, the slowest files below.
#
#   tools/dev/build_time.sh                  build/dev
#   tools/dev/build_time.sh build/release 20 of another folder, with the 20 slowest files
#
# Seconds are those that each step took, waiting for a core included: about CPU seconds where nothing else ran and there were
# no more jobs than cores.
set -euo pipefail
build=${1:-$(dirname "$(readlink -f "$0")")/../../build/dev}
slowest=${2:-10}
if [ ! -r "$build/.ninja_log" ]; then
  printf 'build_time.sh: %s has no .ninja_log: name the folder of a build that ninja made, for example build/release\n' "$build" >&2
  exit 1
fi
exec python3 -B - "$build/.ninja_log" "$slowest" << 'END'
import collections
import re
import sys

seconds = {}
for line in open(sys.argv[1]):
    fields = line.rstrip("\n").split("\t")
    if len(fields) == 5:
        start, end, _, output, _ = fields
        seconds[output] = (int(end) - int(start)) / 1000  # of a file that was built again, the last time


def folder(output):
    object_file = re.fullmatch(r"(.*?)/?CMakeFiles/([^/]+)\.dir/(.*)", output)
    if object_file is None:
        return "(programs and libraries)" if re.search(r"^(bin|lib)/|_test$|\.(a|so[.\d]*)$", output) else "(generated)"
    directory, target, source = object_file.groups()
    if source.endswith(".pch") or source.endswith(".gch"):
        return "(precompiled headers)"
    if target.startswith("header_check"):
        return "(headers alone)"
    path = f"{directory}/{source}".rpartition("/")[0]
    return "/".join(path.split("/")[:4 if path.startswith("tests/") else 2])


steps, time = collections.Counter(), collections.Counter()
for output, spent in seconds.items():
    steps[folder(output)] += 1
    time[folder(output)] += spent
total = sum(seconds.values()) or 1
print(f"{'seconds':>9} {'share':>6} {'steps':>6} {'each':>6}  folder")
for name, spent in time.most_common():
    print(f"{spent:9.1f} {spent / total:6.1%} {steps[name]:6d} {spent / steps[name]:6.2f}  {name}")
print(f"{total:9.1f} {1:6.0%} {len(seconds):6d} {total / max(1, len(seconds)):6.2f}  all\n")
print(f"the {sys.argv[2]} slowest")
for output, spent in sorted(seconds.items(), key=lambda item: -item[1])[:int(sys.argv[2])]:
    print(f"{spent:9.1f}  {re.sub(r'CMakeFiles/[^/]+[.]dir/', '', output)}")
END
