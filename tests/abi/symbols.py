#!/usr/bin/env python3
"""What libcoterie.so exports is a promise. Usage: symbols.py NM LIBRARY LIST; with COTERIE_UPDATE_GOLDEN=1 rewrites LIST."""
import os
import subprocess
import sys


def main():
    nm, library, path = sys.argv[1:]
    listed = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, check=True, text=True).stdout
    exported = sorted(line.split()[-1] for line in listed.splitlines() if line.strip())
    if os.environ.get("COTERIE_UPDATE_GOLDEN") == "1":
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(exported) + "\n")
    with open(path, encoding="utf-8") as file:
        promised = file.read().split()
    added, removed = sorted(set(exported) - set(promised)), sorted(set(promised) - set(exported))
    for name in removed:
        print(f"removed: {name}: apps that call it will not start any more")
    for name in added:
        print(f"added: {name}: if it is meant to be public, add it to {os.path.basename(path)} (COTERIE_UPDATE_GOLDEN=1)")
    print(f"{len(exported)} symbols")
    return 1 if added or removed or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
