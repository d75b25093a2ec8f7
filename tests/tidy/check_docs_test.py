#!/usr/bin/env python3
"""The check of links finds what it is there for."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_docs  # noqa: E402


def problems_of(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        check_docs.ROOT = pathlib.Path(root).resolve()
        return list(check_docs.links())


class Links(unittest.TestCase):
    def test_a_link_to_a_file_or_a_heading_that_is_there_is_right(self):
        self.assertEqual(problems_of({
            "a.md": "# One\n\n## Two, and `three`!\n\n[x](#two-and-three) [y](docs/b.md) [z](docs/b.md#four)\n",
            "docs/b.md": "# B\n\n## Four\n\n[up](../a.md#one) [web](https://example.org/#none)\n"}), [])

    def test_a_link_to_nothing_is_found(self):
        self.assertEqual(problems_of({"a.md": "[x](b.md)\n"}), ["a.md: the link b.md leads nowhere"])

    def test_a_link_to_no_heading_is_found(self):
        self.assertEqual(problems_of({"a.md": "# A\n\n[x](#b)\n"}), ["a.md: the link #b names no heading of a.md"])
        self.assertEqual(problems_of({"a.md": "[x](d/b.md#c)\n", "d/b.md": "# B\n"}),
                         ["a.md: the link d/b.md#c names no heading of b.md"])

    def test_code_has_neither_headings_nor_links(self):
        self.assertEqual(problems_of({"a.md": "```\n# B\n[x](y)\n```\n`[x](z)` [x](#b)\n"}),
                         ["a.md: the link #b names no heading of a.md"])

    def test_the_second_heading_of_a_name_has_a_number(self):
        self.assertEqual(problems_of({"a.md": "# A\n## B\n## B\n[x](#b) [y](#b-1)\n"}), [])

    def test_what_is_built_is_not_read(self):
        self.assertEqual(problems_of({"build/a.md": "[x](b.md)\n", ".cache/a.md": "[x](b.md)\n"}), [])


if __name__ == "__main__":
    unittest.main()
