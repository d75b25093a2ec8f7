#!/usr/bin/env python3
"""Is every file as .clang-format says? Usage: check_format.py [root]; prints path:line of each place that is not.

The mend is in the last line it prints. Exit status 77: there is no clang-format-16 here, so nothing was checked (another
version formats differently).
"""
import os
import shutil
import subprocess
import sys

TOOL = "clang-format-16"
FILES = ("*.cc", "*.h", "*.hpp", "*.c", "*.cpp")
GENERATED = ":!tests/golden"
FILES_AT_ONCE = 64


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    if not shutil.which(TOOL):
        print(f"{TOOL} is not installed: the format was not checked")
        return 77
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *FILES,
                             GENERATED], capture_output=True, check=True).stdout.decode().split("\0")
    files = [f for f in listed if f and os.path.isfile(os.path.join(root, f))]
    wrong = []
    for start in range(0, len(files), FILES_AT_ONCE):
        said = subprocess.run([TOOL, "--dry-run", "--ferror-limit=1", *files[start:start + FILES_AT_ONCE]],
                              cwd=root, capture_output=True, text=True).stderr
        wrong += [line.split(": warning:")[0] for line in said.splitlines() if ": warning:" in line]
    for place in wrong:
        print(f"{place}: not as .clang-format says")
    print(f"{len(files)} files, {len({w.split(':')[0] for w in wrong})} to format" +
          (f": {TOOL} -i " + " ".join(sorted({w.split(":")[0] for w in wrong})[:20]) if wrong else ""))
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
