#!/usr/bin/env python3
"""What Swift files use of the C interface is in its headers. Usage: swift_symbols.py HEADER... -- SWIFT..."""
import re
import sys


def words(paths):
    found = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        found |= set(re.findall(r"\b(?:coterie_\w+|COTERIE_\w+)\b", text))
    return found


def members(header_text, struct):
    body = re.search(r"(?:typedef )?struct " + struct + r" \{(.*?)\n\}", header_text, re.DOTALL)
    return set(re.findall(r"(\w+)(?=[;,)(\[])", body.group(1))) if body else None


def main():
    split = sys.argv.index("--")
    headers, swift = sys.argv[1:split], sys.argv[split + 1:]
    problems = [f"{name} is in no header" for name in sorted(words(swift) - words(headers))]
    header_text = ""
    for path in headers:
        with open(path, encoding="utf-8") as file:
            header_text += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    # `var c = coterie_x()` ... `c.member`: a member that no struct has is a mistake.
    known = set().union(*(members(header_text, struct) or set()
                          for struct in set(re.findall(r"struct (coterie_\w+) \{", header_text))))
    for path in swift:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//[^\n]*", "", file.read())
        for name in sorted(set(re.findall(r"\b(?:c|tensor|result|pointee)\.([a-z]\w*)", text)) - known):
            if name != "pointee":
                problems.append(f"{path}: no C struct has a member {name}")
    for problem in problems:
        print(problem)
    print(f"{len(words(swift))} names")
    return 1 if problems or not words(swift) else 0


if __name__ == "__main__":
    sys.exit(main())
