#!/usr/bin/env python3
"""A page that says how to add something to the tree is followed to the letter: its diffs, then its commands, in a copy.

Usage: recipe_test.py ROOT PAGE
       recipe_test.py ROOT --applies    no copy and no commands: whether the diffs of all pages of docs/contributing fit

A fenced block is part of the recipe if it is marked so: `diff recipe` is applied, `sh recipe` is run in the copy, and each
line of `text recipe` must be somewhere in what the commands printed. The copy has the files that git tracks or would.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tidy"))
import check_tree  # noqa: E402


def blocks(page: Path) -> dict[str, list[str]]:
    found = {"diff": [], "sh": [], "text": []}
    for kind, body in re.findall(r"^```(\w+) recipe\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
        assert kind in found, f"{page}: a recipe has no blocks of the kind {kind}"
        found[kind].append(body)
    for kind, bodies in found.items():
        assert bodies, f"{page}: there is no block ```{kind} recipe"
    return found


def copy_tree(root: Path, to: Path):
    for name in check_tree.list_files(str(root)):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, to / name)


def environment(copy: Path) -> dict[str, str]:
    """A compiler cache is used where there is one; it sees paths relative to the copy, so that the next copy has its hits."""
    words = dict(os.environ)
    if shutil.which("ccache"):
        words |= {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
                  "CCACHE_BASEDIR": str(copy), "CCACHE_NOHASHDIR": "1"}
    return words


def apply(diffs: list[str], copy: Path):
    # A repository of its own: inside somebody else's, git apply skips what that does not have and says nothing.
    subprocess.run(["git", "init", "--quiet", str(copy)], check=True)
    subprocess.run(["git", "apply", "-C1", "--whitespace=nowarn", "-"], cwd=copy, input="".join(diffs), text=True, check=True)


def check_that_it_applies(root: Path, page: Path, copy: Path):
    diffs = blocks(page)["diff"]
    files = re.findall(r"^--- a/(\S+)$", "".join(diffs), re.M)
    for name in files:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, copy / name)
    apply(diffs, copy)
    unchanged = [name for name in files if (copy / name).read_bytes() == (root / name).read_bytes()]
    assert not unchanged, f"{page.name}: its diffs change nothing in {unchanged}"
    print(f"{page.name}: {len(diffs)} diffs fit {len(files)} files")


def follow(root: Path, page: Path, copy: Path):
    recipe = blocks(page)
    copy_tree(root, copy)
    apply(recipe["diff"], copy)
    printed = ""
    for commands in recipe["sh"]:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=copy, env=environment(copy), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout, flush=True)
        assert done.returncode == 0, f"{page.name}: the commands end with {done.returncode}"
        printed += done.stdout
    expected = [line for text in recipe["text"] for line in text.splitlines() if line.strip()]
    missing = [line for line in expected if line not in printed]
    assert not missing, f"{page.name}: the commands did not print {missing}"
    print(f"{page.name}: {len(recipe['diff'])} diffs applied, {len(recipe['sh'])} blocks run, {len(expected)} lines seen")


def main():
    root = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="recipe-") as folder:
        copies = Path(folder).resolve()
        if sys.argv[2] != "--applies":
            return follow(root, Path(sys.argv[2]).resolve(), copies / "coterie")
        pages = sorted((root / "docs/contributing").glob("*.md"))
        assert pages, "docs/contributing has no pages"
        for page in pages:
            check_that_it_applies(root, page, copies / page.stem)


if __name__ == "__main__":
    main()
