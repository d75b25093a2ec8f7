#!/usr/bin/env python3
"""A type has one definition (the one-definition rule of C++). Usage: check_names.py [root]; prints path: what is wrong.

Two classes, structs, unions or enums of one namespace that share a name in different files are two types to the compiler and one
to the linker: of their inline functions it keeps one, and a program that has both runs the wrong one without a word. So each name
is once in a namespace. Names in anonymous namespaces and in functions belong to their file, and may repeat
(cmake/unity_groups.py keeps those of one group apart). A type that a macro chooses among stands in several branches of one file.
"""
import os
import re
import sys

FOLDERS = ["aggregation", "base", "bench", "bindings", "device_sdk", "examples", "fl_server", "model_import", "proto", "scheduler",
           "secure", "tests", "tools", "train_kernels", "vertical"]
CODE = (".h", ".cc", ".cpp", ".hpp")
# Programs and libraries of others' choice, which nothing else is linked with.
ALONE = ["tests/install/", "tests/tidy/", "examples/"]

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/                                   # comments
  | R"(?P<raw>[^()\s]*)\(.*?\)(?P=raw)"                    # raw strings
  | "(?:[^"\\\n]|\\.)*" | (?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)*'
  | \[\[.*?\]\]                                          # attributes
  | ^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*                         # directives
  | \b(?:namespace|class|struct|union|enum|template|using|friend)\b
  | [A-Za-z_][A-Za-z0-9_]*
  | :: | [{};<>()=:,&*]
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
KINDS = {"class", "struct", "union", "enum"}


def tokens_of(text):
    for match in TOKEN.finditer(text):
        token = match.group()
        if token[0] in "\"'/[" or token.startswith('R"') or token.lstrip().startswith("#"):
            continue
        yield token, match.start()


def name_behind(tokens, at):
    """Of a definition whose kind is tokens[at]: its name, and where its brace is. None: it is none, or a specialisation."""
    name = None
    i = at + 1
    while i < len(tokens):
        token = tokens[i][0]
        if token == "{":
            return (name, i) if name else None
        if token == ":" and name:
            while i < len(tokens) and tokens[i][0] not in "{;":
                i += 1
            return (name, i) if i < len(tokens) and tokens[i][0] == "{" else None
        if token in KINDS or token in ("final", "alignas"):
            pass
        elif re.fullmatch(r"[A-Za-z_]\w*", token):
            if name and name.isupper():  # a macro before the name
                name = None
            if name:
                return None
            name = token
        elif token == "(" and name is None:  # alignas(8)
            while tokens[i][0] != ")":
                i += 1
        else:
            return None
        i += 1
    return None


def types_of(text):
    """(namespace, name, offset) of each type that is defined at the scope of a namespace with a name."""
    tokens = list(tokens_of(text))
    scopes = []  # of each open brace: the namespace's name; "" anonymous; None: no namespace
    opens = {}   # index of a brace -> what it opens
    found = []
    i = 0
    while i < len(tokens):
        token, offset = tokens[i]
        if token == "namespace":
            j, name = i + 1, []
            while j < len(tokens) and tokens[j][0] not in "{;=":
                name.append(tokens[j][0])
                j += 1
            if j < len(tokens) and tokens[j][0] == "{":
                opens[j] = "".join(name).replace("inline", "")
            i = j
            continue
        if token in KINDS and all(scopes) and (i == 0 or tokens[i - 1][0] not in ("<", ",", "friend", "enum")):
            definition = name_behind(tokens, i)
            if definition:
                found.append(("::".join(scopes), definition[0], offset))
                i = definition[1]
                continue
        if token == "{":
            scopes.append(opens.get(i))
        elif token == "}" and scopes:
            scopes.pop()
        i += 1
    return found


def texts_of(root):
    for folder in FOLDERS:
        for place, folders, files in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(files):
                path = os.path.relpath(os.path.join(place, name), root)
                if name.endswith(CODE) and not any(path.startswith(alone) for alone in ALONE):
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        yield path, file.read()


def check(texts):
    """Of (path, text) of each file: how many types there are, and what is wrong."""
    places = {}
    for path, text in texts:
        for namespace, name, offset in types_of(text):
            places.setdefault((namespace, name), {}).setdefault(path, text.count("\n", 0, offset) + 1)
    problems = []
    for (namespace, name), where in sorted(places.items()):
        (first, line), *others = where.items()
        problems += [f"{path}:{other}: {namespace + '::' if namespace else ''}{name} is a type of {first}:{line}, too: "
                     "give one of them another name, or an anonymous namespace" for path, other in others]
    return len(places), problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    count, problems = check(texts_of(root))
    for problem in problems:
        print(problem)
    print(f"{count} types, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
