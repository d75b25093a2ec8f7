"""What the programs behind ./bench print, and how a row ends."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"


class Failed(Exception):
    pass


def rows_of(command, **more):
    """The JSON objects a program prints, one a line."""
    print("$ " + " ".join(str(word) for word in command), file=sys.stderr, flush=True)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        raise Failed(f"{pathlib.Path(command[0]).name} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def verdict(ok):
    return "reached" if ok else "missed"
