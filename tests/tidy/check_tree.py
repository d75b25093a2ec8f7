#!/usr/bin/env python3
"""The house rules that no compiler checks. Usage: check_tree.py [root]; prints path:line: rule: what and why.

The rules are data (tree_rules.py), so that the house can be seen at a glance; here is the code that applies them.
"""
import os
import re
import subprocess
import sys
from typing import NamedTuple

from tree_rules import *  # noqa: F403: the tables, all in capitals

CODE = (".cc", ".h", ".c", ".cpp", ".hpp")
TEXT = CODE + (".py", ".cmake", ".fbs", ".json", ".md", ".sh", ".yaml", ".yml", ".toml", ".txt", ".sql", ".service")


class Problem(NamedTuple):
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


def list_files(root):
    """Tracked files and new ones that git does not ignore; without git, all but build folders."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, check=True).stdout.decode().split("\0")
        inside = subprocess.run(["git", "-C", root, "rev-parse", "--show-prefix"], capture_output=True, check=True)
        if inside.stdout.strip() == b"":
            return sorted({f for f in listed if f and os.path.isfile(os.path.join(root, f))})
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in ("build", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def is_in(path, folders):
    return any(path.startswith(folder) for folder in folders)


def matches_any(path, patterns):
    return any(re.match(pattern, path) for pattern in patterns)


def blank(text):
    """The same text with comments and literals turned to blanks, newlines kept."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                       r"(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'", re.S)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes_of(text):
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', text, re.M):
        yield line_of(text, match.start()), match.group(1) == '"', match.group(2)


def may_include(path, target):
    folder = max((f for f in MAY_INCLUDE if path.startswith(f)), key=len, default=None)
    if folder is None:
        return True, path
    allowed = [folder] + [f for f in MAY_INCLUDE[folder] if not f.startswith("!")]
    denied = [f[1:] for f in MAY_INCLUDE[folder] if f.startswith("!")]
    return is_in(target, allowed) and not is_in(target, denied), folder


def is_standard(target):
    if target.endswith(".h"):
        return target[:-2] in STANDARD_C or is_in(target, ["sys/", "netinet/", "arpa/", "net/", "linux/"])
    return "/" not in target and "." not in target


def check_includes(path, text, ours):
    for line, quoted, target in includes_of(text):
        def bad(rule, message):
            return Problem(path, line, rule, message)

        third_party = next((t for t in THIRD_PARTY if re.match(t[1], target)), None)
        if third_party:
            name, _, where = third_party
            if not is_in(path, where):
                yield bad("third-party", f"{target} ({name}) may be included in {', '.join(where)} only")
        elif target.split("/")[0] + "/" in ours or quoted:
            ok, folder = may_include(path, target)
            if target.split("/")[0] + "/" not in ours and not path.startswith("examples/"):
                yield bad("include-path", f'"{target}" does not start at the repository root')
            elif not ok:
                allowed = ", ".join(MAY_INCLUDE[folder]) or "nothing"
                yield bad("dependency", f"{folder} may not include {target}; besides itself it may include {allowed}")
        elif not is_standard(target):
            yield bad("third-party", f"{target} is in no row of THIRD_PARTY: say there who may include it")
        if is_pure(path):
            for pattern, what in NOT_IN_PURE_INCLUDES:
                if re.match(pattern, target):
                    yield bad("pure", f"{target} brings {what} into a pure folder; hand the value in instead")
        if is_in(path, NO_STREAMS) and re.match(STREAM_HEADERS, target):
            yield bad("streams", f"<{target}> costs a device 1.7 MB; use std::string and std::to_chars")


def is_pure(path):
    return is_in(path, PURE) and not matches_any(path, PURE_EXCEPT)


def folder_arrows(texts):
    """(folder, folder) -> one include (path, line, target) that draws it, of fl_server's folders."""
    arrows = {}
    for path, text in texts.items():
        if not path.startswith("fl_server/") or not path.endswith(CODE):
            continue
        for line, quoted, target in includes_of(text):
            arrow = (os.path.dirname(path) + "/", os.path.dirname(target) + "/")
            if quoted and target.startswith("fl_server/") and arrow[0] != arrow[1]:
                arrows.setdefault(arrow, (path, line, target))
    return arrows


def reach(arrows, start):
    """The folders that `start` includes, itself or through others."""
    found, todo = set(), [start]
    while todo:
        here = todo.pop()
        for source, target in arrows:
            if source == here and target not in found:
                found.add(target)
                todo.append(target)
    return found


def check_folders(texts):
    arrows = folder_arrows(texts)
    for path in texts:
        folder = os.path.dirname(path) + "/"
        if path.endswith(CODE) and folder.startswith("fl_server/") and folder not in MAY_INCLUDE:
            yield Problem(path, 1, "floor", f"{folder} has no row in MAY_INCLUDE: say there what it may include")
    for (source, target), (path, line, header) in arrows.items():
        if source in reach(arrows, target):
            yield Problem(path, line, "circle", f"{target} includes {source}, maybe through others, so that {source} "
                                                f"may not include {header}")
    if DRAWING in texts:
        yield from check_drawing(arrows, texts[DRAWING])


def drawn_arrows(drawing):
    """Folder of fl_server -> what the drawing says it may include; folders from above to below."""
    block = re.search(r"^```\n(app +->.*?)^```$", drawing, re.M | re.S)
    drawn = {}
    for line in block.group(1).splitlines() if block else []:
        folders, arrow, targets = line.partition("->")
        if arrow:
            names = folders.replace(",", " ").split()
            drawn.update({name: "" for name in names})
        for name in names:
            drawn[name] += " " + (targets if arrow else line)
    return drawn


def check_drawing(arrows, drawing):
    drawn = drawn_arrows(drawing)
    floors = list(drawn)
    for (source, target), (path, line, header) in arrows.items():
        source, target = source.split("/")[1], target.split("/")[1]
        if source == target or drawn.get(source, "").strip() == "everything":
            continue
        if not re.search(rf"\b{target}\b", drawn.get(source, "")):
            yield Problem(path, line, "drawing", f"{DRAWING} does not say that {source} includes {target} ({header})")
        elif target in floors and floors.index(target) < floors.index(source):
            yield Problem(path, line, "drawing", f"{DRAWING} has {target} above {source}, which includes {header}")


def check_coroutines(path, code):
    for match in re.finditer(r"\bco_(await|return|yield)\b", code):
        if not is_in(path, COROUTINES):
            yield Problem(path, line_of(code, match.start()), "coroutine",
                          f"coroutines live in {', '.join(COROUTINES)} only")


def check_words(path, text, code):
    def find(pattern, where, rule, message):
        for match in re.finditer(pattern, where):
            yield Problem(path, line_of(where, match.start()), rule, f"{match.group().strip()}: {message}")

    if code is not None and is_pure(path):
        yield from find(NOT_IN_PURE_WORDS, code, "pure", "a pure folder takes time, chance and settings as arguments")
    if code is not None and not is_in(path, MAY_ASSUME_SAMPLING):
        yield from find(ASSUMED_SAMPLING, code, "sampling", "devices are not sampled; a sampler that tosses the coins says so itself")
    if path.startswith("tests/"):
        yield from find(SLEEPS, text if code is None else code, "sleep", "a test waits for an event, not for a while")
    if code is not None:
        for match in re.finditer(RIDDLE, text):
            if not code[match.start(1):match.end(1)].strip():  # a comment, or a literal that looks like one
                yield Problem(path, line_of(text, match.start(1)), "prose",
                              f"{match.group(1)}: a sentence begins with its subject")
    elif path.endswith(".md"):
        for match in re.finditer(RIDDLE_IN_TEXT, text):
            yield Problem(path, line_of(text, match.start(1)), "prose",
                          f"{match.group(1)}: a sentence begins with its subject")
    yield from find(UNTRACKED_WORK, text, "untracked-work", "write the number of its issue behind it: (#123)")
    yield from find(MACHINE_PATHS, text, "machine-path", "a path of one machine; take it from the caller")


def check_layout(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield Problem(path, number, "blank", "a tab; use spaces")
        if line != line.rstrip():
            yield Problem(path, number, "blank", "blanks at the end of the line")
        if path.endswith(CODE) and len(line) > COLUMNS_MAX:
            yield Problem(path, number, "columns", f"{len(line)} columns, at most {COLUMNS_MAX}")
    lines = text.count("\n")
    if path.endswith(CODE + (".py", ".cmake")) and lines > LINES_MAX:
        yield Problem(path, lines, "length", f"{lines} lines, at most {LINES_MAX}: find the second subject in it")
    if path.endswith((".h", ".hpp")) and "#pragma once" not in text and not matches_any(path, NO_PRAGMA_ONCE):
        yield Problem(path, 1, "pragma-once", "a header begins with #pragma once")


def mentioned_files(texts):
    """The source files that some CMakeLists.txt names, as patterns: ${...} counts as *."""
    patterns = set()
    for path, text in texts.items():
        if os.path.basename(path) != "CMakeLists.txt":
            continue
        folder = os.path.dirname(path)
        for token in re.split(r'[\s()";]+', re.sub(r"#[^\n]*", "", text)):
            if not token.endswith(CODE):
                continue
            token = token.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
            rooted = re.sub(r"^\$\{(PROJECT|CMAKE)_SOURCE_DIR\}/", "", token)
            full = rooted if rooted != token else os.path.normpath(os.path.join(folder, token))
            patterns.add(re.sub(r"\$\{[^}]*\}", "*", full))
    return patterns


def check_mentioned(texts):
    """Every source is built, every header is part of a public face (HEADERS) or included by somebody."""
    patterns = mentioned_files(texts)
    patterns |= {i[2] for path, text in texts.items() if path.endswith(CODE) for i in includes_of(text) if i[2] != path}
    wild = [re.sub(r"\\\*", "[^/]*", re.escape(p)) + "$" for p in patterns if "*" in p]
    for path in texts:
        if path.endswith(CODE) and path not in patterns and not matches_any(path, wild):
            yield Problem(path, 1, "dead-file", "no CMakeLists.txt mentions it and nobody includes it: use it or delete it")


def check_counts(texts):
    beast = [p for p, t in texts.items() if p.endswith(CODE) and any(re.match(r"boost/beast", i[2]) for i in includes_of(t))]
    for path in beast[BEAST_FILES_MAX:]:
        yield Problem(path, 1, "beast", f"the {len(beast)}. file that includes Beast, at most {BEAST_FILES_MAX}: "
                                        + ", ".join(beast))
    for folder, limit in FOLDER_FILES_MAX.items():
        files = [p for p in texts if p.endswith(CODE) and os.path.dirname(p) + "/" == folder]
        for path in files[limit:]:
            yield Problem(path, 1, "crowded", f"{folder} has {len(files)} files, at most {limit}: words everybody needs")


def check(root):
    texts = {}
    for path in list_files(root):
        if matches_any(path, GENERATED) or not (path.endswith(TEXT)):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            texts[path] = file.read()
    ours = {path.split("/")[0] + "/" for path in texts if "/" in path} | set(MAY_INCLUDE)
    ours = {folder.split("/")[0] + "/" for folder in ours}
    problems = []
    for path, text in texts.items():
        code = blank(text) if path.endswith(CODE) else None
        problems += check_layout(path, text)
        if code is not None:
            problems += check_includes(path, text, ours)
            problems += check_coroutines(path, code)
        if not matches_any(path, NO_WORDS_CHECK):
            problems += check_words(path, text, code)
    problems += check_mentioned(texts)
    problems += check_folders(texts)
    problems += check_counts(texts)
    return len(texts), sorted(problems)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    count, problems = check(os.path.abspath(root))
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
