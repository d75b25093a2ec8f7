#!/usr/bin/env python3
"""The check of dependencies finds what it is there for."""
import os
import tempfile
import unittest

import check_dependencies

PAGE = """\
| library | for | where | kept by | in its place |
|---|---|---|---|---|
| zlib | gzip | `tools/data` | Mark Adler | - |

| library | CMake | Debian 12 | version | licence | as | linked into |
|---|---|---|---|---|---|---|
| zlib | `ZLIB` | `zlib1g-dev` | 1.2.13 | Zlib | `libz` | `coterie` |
"""
TREE = {"docs/DEPENDENCIES.md": PAGE, "CMakeLists.txt": "find_package(ZLIB REQUIRED)  # find_package(Old)\n",
        "tools/dev/packages.sh": "packages=(\n  cmake zlib1g-dev  # gzip, not bzip2-dev\n)\n",
        "tools/data/gzip.cc": "#include <zlib.h>\n"}


def problems_of(**changes):
    """What the check says of the tree above with these files changed."""
    files = dict(TREE, **changes)
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        found = list(check_dependencies.check(root))
    return [problem for problem in found if not problem.startswith("tests/tidy/tree_rules.py")]  # of the real house


class Dependencies(unittest.TestCase):
    def finds(self, path, text, *problems):
        found = problems_of(**{path: text})
        self.assertEqual(len(found), len(problems), found)
        for problem, part in zip(found, problems):
            self.assertIn(part, problem)

    def test_a_true_page_is_right(self):
        self.assertEqual(problems_of(), [])

    def test_what_cmake_looks_for_has_a_row(self):
        self.finds("cmake/a.cmake", "find_package(EXPAT 2.5 REQUIRED)\n", "cmake/a.cmake: CMake's EXPAT has 0 rows")
        self.finds("cmake/a.cmake", "pkg_check_modules(pq REQUIRED IMPORTED_TARGET libpq>=15)\n", "CMake's libpq has 0 rows")
        self.finds("cmake/a.cmake", "coterie_headers(coterie_highway hwy/highway.h)\n", "hwy/highway.h has 0 rows")

    def test_a_row_that_nobody_looks_for_is_stale(self):
        self.finds("CMakeLists.txt", "", "CMake's ZLIB has a row, but nobody asks for it")

    def test_each_package_has_a_row(self):
        self.finds("tools/dev/packages.sh", "a=(zlib1g-dev)\nb+=(libeigen3-dev)\n", "the package libeigen3-dev has 0 rows")
        self.finds("tools/dev/packages.sh", "a=()\n", "the package zlib1g-dev has a row, but nobody asks for it")

    def test_a_library_is_used_where_its_row_says(self):
        self.finds("base/a.cc", "#include <zlib.h>\n", "base/a.cc: includes zlib")
        self.finds("base/a.cc", "#include <expat.h>\n", "expat is included and has no row")
        self.finds("tests/a.cc", "#include <expat.h>\n")

    def test_a_folder_that_does_not_use_it_is_stale(self):
        page = PAGE.replace("`tools/data` |", "`tools/data`, `base` |")
        self.finds("docs/DEPENDENCIES.md", page, "zlib is not included in base")

    def test_the_tables_name_the_same(self):
        page = PAGE.replace("| zlib | gzip", "| libz | gzip")
        self.assertIn("the two tables", problems_of(**{"docs/DEPENDENCIES.md": page})[0])


if __name__ == "__main__":
    unittest.main()
