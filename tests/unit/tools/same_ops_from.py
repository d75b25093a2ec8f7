#!/usr/bin/env python3
"""Whether cmake/ops_from.py finds the same in each model file as in the list that `coterie model crop` wrote of it.

Usage: same_ops_from.py ROOT FOLDER   the folder has NAME.cotf beside NAME.txt. Prints how many; fails at the first that differ.
"""
import pathlib
import sys

ROOT, FOLDER = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(ROOT / "cmake"))
import ops_from  # noqa: E402


def main():
    models = sorted(FOLDER.glob("*.cotf"))
    for model in models:
        of_model, of_list = (ops_from.found_in(ROOT, [path]) for path in (model, model.with_suffix(".txt")))
        if of_model != of_list:
            sys.exit(f"{model.name}: the model has {of_model}, its list {of_list}")
    print(len(models), "alike")


if __name__ == "__main__":
    main()
