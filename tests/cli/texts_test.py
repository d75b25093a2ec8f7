#!/usr/bin/env python3
"""What the command line says of itself to shells and to man. Usage: texts_test.py COTERIE; prints what is wrong."""
import pathlib
import sys
import tempfile

import completion_check
import help_tree
import man_page_check

COTERIE = sys.argv[1]
HELP = help_tree.read(COTERIE)
TREE = {path: help_tree.options(text) for path, text in HELP.items()}
with tempfile.TemporaryDirectory(prefix="coterie-texts-") as temporary:
    FOLDER = pathlib.Path(temporary)
    PROBLEMS = [] if len(TREE) > 30 else [f"--help lists {len(TREE)} commands: is it read rightly?"]
    PROBLEMS += completion_check.problems(COTERIE, TREE, FOLDER)
    PROBLEMS += man_page_check.problems(COTERIE, TREE, FOLDER / "man1")
for path, text in HELP.items():
    for line in text.splitlines():
        if len(line) > 80:
            PROBLEMS.append(f"{' '.join(path)} --help has {len(line)} columns: {line}")
for problem in PROBLEMS:
    print(problem)
sys.exit(1 if PROBLEMS else 0)
