#!/usr/bin/env python3
"""Usage: nocompile.py <file> <compiler> [flags...]. See nocompile.cc."""
import re
import subprocess
import sys


def errors_of(source, command):
    """Whether the compiler accepts, and the lines of `source` that it calls errors."""
    done = subprocess.run(command + [source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    pattern = re.compile(rf"^{re.escape(source)}:(\d+):\d+: error", re.M)
    return done.returncode == 0, {int(line) for line in pattern.findall(done.stdout)}, done.stdout


def main():
    source, command = sys.argv[1], sys.argv[2:]
    with open(source, encoding="utf-8") as file:
        expected = {number for number, line in enumerate(file, 1) if line.endswith("// error\n")}
    accepted, _, output = errors_of(source, command + ["-DMISTAKES=0"])
    if not accepted:
        print(output, "the file without its mistakes must compile", sep="\n")
        return 1
    accepted, found, output = errors_of(source, command + ["-DMISTAKES=1"])
    if accepted or not expected or found != expected:
        print(output, f"errors expected in lines {sorted(expected)}, found in {sorted(found)}", sep="\n")
        return 1
    print(f"{len(expected)} mistakes, each refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
