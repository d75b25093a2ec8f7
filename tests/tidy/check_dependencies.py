#!/usr/bin/env python3
"""docs/DEPENDENCIES.md is true. Usage: check_dependencies.py [root]; prints what is missing, or there for nothing.

* What CMake looks for (find_package, pkg_check_modules, coterie_headers) and each -dev package of tools/dev/packages.sh has a
  row, and each row is of something that is looked for or installed.
* A library is used where its row says, and nowhere else: by the include patterns of tree_rules.py.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools/dev")]
import check_tree  # noqa: E402
import dependency_tables  # noqa: E402

PAGE = "docs/DEPENDENCIES.md"
# Where tree_rules.py has another name for a library, or several libraries in a row.
INCLUDED_AS = {"Asio": ["Boost"], "Beast": ["Boost"], "JNI": ["OpenJDK"],
               "Coterie as installed": []}


OUTSIDE = ("examples/", "tests/install/consumer/")  # projects that have Coterie installed


def cmake_files(root):
    """CMakeLists.txt and *.cmake of the tree, without comments."""
    for path in check_tree.list_files(root):
        if path.endswith((".cmake", "CMakeLists.txt")) and not path.startswith(OUTSIDE):
            yield path, re.sub(r"#[^\n]*", "", (pathlib.Path(root) / path).read_text(encoding="utf-8"))


def looked_for(root):
    """name -> the first file that asks CMake for it."""
    found = {}
    for path, text in cmake_files(root):
        names = re.findall(r"\bfind_package\(\s*([\w+-]+)", text)
        names += re.findall(r"\bcoterie_headers\(\s*\w+\s+([\w/.]+)\s*\)", text)
        for modules in re.findall(r"\bpkg_(?:check|search)_modules?\(\s*\w+([^)]*)\)", text):
            names += [m for m in re.split(r"[\s<>=]+", modules) if m and not m.isupper() and not m[0].isdigit()]
        for name in names:
            found.setdefault(name, path)
    return found


def packages(text):
    """Every word in the arrays of packages.sh."""
    text = re.sub(r"#[^\n]*", "", text)
    return {word for array in re.findall(r"\+?=\(([^)]*)\)", text) for word in array.split()}


def compare(wanted, rows, column, what):
    """(name -> where) against the names in a column: one row each, and none for nothing."""
    named = [name for row in rows for name in dependency_tables.names_in(row[column])]
    for name, where in sorted(wanted.items()):
        if named.count(name) != 1:
            yield f"{where}: {what} {name} has {named.count(name)} rows in the second table of {PAGE}"
    for name in sorted(set(named) - set(wanted)):
        yield f"{PAGE}: {what} {name} has a row, but nobody asks for it"


def folders_of_includes(root):
    """library -> folders of the files that include it, tests left out."""
    found = {}
    for path in check_tree.list_files(root):
        if not path.endswith(check_tree.CODE) or path.startswith("tests/"):
            continue
        text = (pathlib.Path(root) / path).read_text(encoding="utf-8", errors="replace")
        for _, quoted, target in check_tree.includes_of(text):
            for name, pattern, _ in check_tree.THIRD_PARTY:
                if not quoted and re.match(pattern, target):
                    for library in INCLUDED_AS.get(name, [name]):
                        found.setdefault(library, set()).add(path)
    return found


def check_places(rows, used):
    """Each file that includes a library is in a folder of its row; each folder of a row has such a file."""
    for row in rows:
        library, folders = row["library"], dependency_tables.names_in(row["where"])
        files = used.get(library, set())
        for path in sorted(files):
            if not any(path.startswith(folder + "/") for folder in folders):
                yield f"{path}: includes {library}, and {PAGE} does not say so"
        if files:
            for folder in folders:
                if not any(path.startswith(folder + "/") for path in files):
                    yield f"{PAGE}: {library} is not included in {folder}"
    for library in sorted(set(used) - {row["library"] for row in rows}):
        yield f"{PAGE}: {library} is included and has no row"


def check(root):
    root = pathlib.Path(root)
    text = (root / PAGE).read_text(encoding="utf-8")
    uses = dependency_tables.read_table(text, dependency_tables.USES)
    build = dependency_tables.read_table(text, dependency_tables.BUILD)
    if [row["library"] for row in uses] != [row["library"] for row in build]:
        yield f"{PAGE}: the two tables of libraries name others, or in another order"
    yield from compare(looked_for(root), build, "CMake", "CMake's")
    installed = packages((root / "tools/dev/packages.sh").read_text(encoding="utf-8"))
    with_compiler = {"libc6", "libgcc-s1", "libstdc++6"}
    rows = {name for row in build for name in dependency_tables.names_in(row["Debian 12"])}
    wanted = {name for name in installed if name.endswith("-dev")} - {"libclang-rt-16-dev"}  # of the compiler
    wanted |= (installed | with_compiler) & rows
    yield from compare(dict.fromkeys(wanted, "tools/dev/packages.sh"), build, "Debian 12", "the package")
    yield from check_places(uses, folders_of_includes(root))
    names = {row["library"] for row in uses}
    for name, _, _ in check_tree.THIRD_PARTY:
        for library in INCLUDED_AS.get(name, [name]):
            if library not in names:
                yield f"tests/tidy/tree_rules.py: {library} may be included and has no row in {PAGE}"


def main():
    problems = list(check(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[1]))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
