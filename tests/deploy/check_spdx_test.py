#!/usr/bin/env python3
"""The check of the bill of materials finds what it is there for."""
import copy
import datetime
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
import check_spdx  # noqa: E402
import write_spdx  # noqa: E402

ROWS = [{"library": "zlib", "Debian 12": "`zlib1g-dev`", "licence": "Zlib", "as": "`libz`", "linked into": "`coterie`"},
        {"library": "GCC's runtime", "Debian 12": "`libstdc++6`", "licence": "GPL-3.0-or-later WITH GCC-exception-3.1",
         "as": "`libstdc++`", "linked into": "`coterie`, `fl_server`"},
        {"library": "GoogleTest", "Debian 12": "`libgtest-dev`", "licence": "BSD-3-Clause", "as": "tests", "linked into": "-"}]
BILL = write_spdx.document(ROWS, "1.2.3", ["coterie", "fl_server"], [], datetime.datetime(2026, 1, 2),
                           lambda packages: {"zlib1g-dev": "1:1.2"}.get(packages[0]))


class Shape(unittest.TestCase):
    def finds(self, part, change):
        bill = copy.deepcopy(BILL)
        change(bill)
        self.assertIn(part, " / ".join(check_spdx.check_shape(bill)))

    def test_what_is_written_is_right(self):
        self.assertEqual(list(check_spdx.check_shape(BILL)), [])
        self.assertEqual([p["name"] for p in BILL["packages"]], ["coterie", "zlib", "GCC's runtime"])
        self.assertEqual(BILL["packages"][1]["externalRefs"][0]["referenceLocator"], "pkg:deb/debian/zlib1g-dev@1%3A1.2")
        self.assertNotIn("versionInfo", BILL["packages"][2])

    def test_the_same_build_writes_the_same(self):
        again = write_spdx.document(ROWS, "1.2.3", ["coterie", "fl_server"], [], datetime.datetime(2026, 1, 2),
                                    lambda packages: {"zlib1g-dev": "1:1.2"}.get(packages[0]))
        self.assertEqual(again, BILL)

    def test_what_a_build_leaves_out_is_left_out(self):
        bill = write_spdx.document(ROWS, "1.2.3", ["fl_server"], [], datetime.datetime(2026, 1, 2), lambda packages: None)
        self.assertEqual([p["name"] for p in bill["packages"]], ["coterie", "GCC's runtime"])
        self.assertEqual(bill["packages"][0]["licenseConcluded"], "Apache-2.0")
        bill = write_spdx.document(ROWS, "1.2.3", ["coterie"], ["zlib"], datetime.datetime(2026, 1, 2), lambda packages: None)
        self.assertEqual([p["name"] for p in bill["packages"]], ["coterie", "GCC's runtime"])

    def test_members_that_spdx_requires(self):
        for member in check_spdx.DOCUMENT:
            self.finds(f"the document: {member} is None", lambda bill, member=member: bill.pop(member))
        for member in check_spdx.PACKAGE:
            self.finds(f"{member} is None", lambda bill, member=member: bill["packages"][1].pop(member))
        self.finds("created is None", lambda bill: bill["creationInfo"].pop("created"))
        self.finds("creators is []", lambda bill: bill["creationInfo"].update(creators=[]))
        self.finds("no expression", lambda bill: bill["packages"][1].update(licenseConcluded="see the file"))

    def test_identifiers_are_unique_and_known(self):
        self.finds("is there twice", lambda bill: bill["packages"].append(bill["packages"][1]))
        self.finds("which is not there", lambda bill: bill["packages"].pop())
        self.finds("has no relationship", lambda bill: bill["relationships"].pop())
        self.finds("expected Coterie alone", lambda bill: bill["relationships"].pop(0))


class Truth(unittest.TestCase):
    def test_what_is_linked_is_in_it_and_nothing_else(self):
        def problems(program, *wanted, bill=BILL):
            return " / ".join(check_spdx.check_program(bill, ROWS, program, set(wanted)))

        self.assertEqual(problems("coterie", "libz", "libstdc++"), "")
        self.assertIn("coterie links libxml2, which no row", problems("coterie", "libz", "libstdc++", "libxml2"))
        self.assertIn("coterie does not link zlib", problems("coterie", "libstdc++"))
        self.assertIn("fl_server links zlib, and its row does not say so", problems("fl_server", "libz", "libstdc++"))
        without = dict(BILL, packages=BILL["packages"][:1] + BILL["packages"][2:])
        self.assertIn("no package zlib", problems("coterie", "libz", "libstdc++", bill=without))

    def test_what_readelf_prints(self):
        self.assertEqual(check_spdx.needed(" 0x01 (NEEDED)  Shared library: [libpng16.so.16]\n 0x0e (SONAME) [libx.so.1]\n"),
                         {"libpng16"})


if __name__ == "__main__":
    unittest.main()
