#!/usr/bin/env python3
"""Which sources of a target can be compiled as one: cmake/CoterieUnity.cmake runs this.

Usage: unity_groups.py ROOT FILES_MAX < lines of TARGET<tab>SOURCE    prints lines of SOURCE<tab>GROUP

Local names of a file (in its unnamed namespace, or macros) are its own only while it is compiled alone. So none of them is declared by
another file of its group, nor by a header of ours that such a file sees. Names are found by their place: whatever a namespace holds
begins at column 0 (.clang-format). A name too many costs a group; a name too few is an error of the compiler, which ./check meets:
it compiles groups itself. A file that changes what comes behind it is in no group, and not printed.
"""
import collections
import pathlib
import re
import sys

TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|union|enum class|enum|using) (\w+)")
VALUE = re.compile(r"[\s&*](\w+)(?=\(|\[|\s=|{|;)")  # a function's or a variable's name: the first after its type
NEXT_VALUE = re.compile(r",\s(\w+)(?:\[[^\]]*\])?(?:\s=|{)")  # of one that declares several
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')


def names(text):
    """What a file declares at column 0."""
    found = set()
    for line in COMMENT_OR_TEXT.sub('""', text).splitlines():
        if line[:1].isalpha() and not re.match(r"namespace|using (?:namespace|[\w:]+;)|TEST", line):
            name = TYPE.match(line) or VALUE.search(line)
            if name:
                found.add(name.group(1))
                found.update(NEXT_VALUE.findall(line))
    return found


def local_names(text):
    """Those in unnamed namespaces, and macros."""
    return (names("\n".join(re.findall(r"^namespace {\n(.*?)^}  // namespace$", text, re.M | re.S))) |
            set(re.findall(r"^#\s*define (\w+)", text, re.M)))


def stands_alone(text):
    """Whether it changes what comes behind it: macros before the last #include, or pragmas."""
    return re.search(r"^#\s*(?:define|undef)\b.*^#\s*include\b|^#\s*(?:undef|pragma)\b", text, re.M | re.S) is not None


class Headers:
    """What a text sees of our headers."""

    def __init__(self, root):
        self.root, self.known = root, {}

    def seen_by(self, text):
        """Names that the headers it includes declare, and those that these include."""
        reached, todo = set(), re.findall(r'^#include "([^"]+)"', text, re.M)
        found = set()
        while todo:
            path = todo.pop()
            if path in reached or not (self.root / path).is_file():
                continue
            reached.add(path)
            if path not in self.known:
                header = (self.root / path).read_text()
                self.known[path] = names(header), re.findall(r'^#include "([^"]+)"', header, re.M)
            found |= self.known[path][0]
            todo += self.known[path][1]
        return found


def main():
    root, files_max = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    headers = Headers(root)
    groups = collections.defaultdict(list)  # of a target, each [files so far, their names, their local names]
    for line in sys.stdin:
        target, source = line.rstrip("\n").split("\t")
        text = (root / source).read_text()
        if stands_alone(text):
            continue
        local = local_names(text)
        own = names(text) | local | headers.seen_by(text)
        for number, group in enumerate(groups[target]):
            if group[0] < files_max and not local & group[1] and not own & group[2]:
                break
        else:
            number, group = len(groups[target]), [0, set(), set()]
            groups[target].append(group)
        group[0] += 1
        group[1] |= own
        group[2] |= local
        print(f"{source}\t{target}_{number}")


if __name__ == "__main__":
    main()
