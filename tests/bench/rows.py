"""What the programs behind ./bench print, and how a row ends."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"


class Failed(Exception):
    pass


SKIPPED = 77  # the exit status of a program that cannot measure here; its line "SKIPPED: ..." says why


def rows_of(command, **more):
    """The JSON objects a program prints, one a line; {"missing": why} where it is skipped."""
    print("$ " + " ".join(str(word) for word in command), file=sys.stderr, flush=True)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, **more)
    if done.returncode == SKIPPED:
        return [{"missing": done.stdout.splitlines()[-1].removeprefix("SKIPPED: ")}]
    if done.returncode != 0:
        raise Failed(f"{pathlib.Path(command[0]).name} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def verdict(ok):
    return "reached" if ok else "missed"
