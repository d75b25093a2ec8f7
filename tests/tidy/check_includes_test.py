#!/usr/bin/env python3
"""Breaks each rule of check_includes.py once and sees that it is found; and that what keeps them is left alone."""
import os
import tempfile
import unittest

import check_includes


class CheckIncludes(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            tree = check_includes.Tree(root)
            return [*check_includes.check_budgets(tree), *check_includes.check_standard_headers(tree),
                    *check_includes.check_own_header_first(tree)]

    def test_a_header_over_its_budget_is_named_with_what_it_reads(self):
        budget = check_includes.BUDGETS_KIB["base/"] * 1024
        large = "int " + "x" * budget + ";\n"
        problems = self.problems({"base/a.h": '#include "base/b.h"\n', "base/b.h": large})
        self.assertEqual(len(problems), 2)
        self.assertRegex(problems[0], r"^base/a\.h: reads \d+ KiB of 2 headers of ours, its budget is \d+.*base/b\.h")
        self.assertEqual(self.problems({"base/a.h": '#include "base/b.h"\n', "base/b.h": large[:budget // 2]}), [])

    def test_a_comment_is_free(self):
        long = "x" * (check_includes.BUDGETS_KIB["base/"] * 1024)
        for text in (f"// {long}\n", f"  // {long}\nint a;\n", f"int a;  // {long}\n", f"/* {long}\n{long} */\nint a;\n"):
            self.assertEqual(self.problems({"base/a.h": text}), [])
        self.assertEqual(len(self.problems({"base/a.h": f"/* a */ int {long};\n// b\n"})), 1)

    def test_each_file_counts_once(self):
        half = "int " + "x" * (check_includes.BUDGETS_KIB["base/"] * 700) + ";\n"
        self.assertEqual(self.problems({"base/a.h": '#include "base/b.h"\n#include "base/c.h"\n', "base/b.h": half,
                                        "base/c.h": '#include "base/b.h"\n'}), [])

    def test_a_heavy_library_does_not_belong_into_a_header(self):
        files = {"fl_server/a.h": "#include <nlohmann/json.hpp>\n", "fl_server/c.cc": "#include <nlohmann/json.hpp>\n",
                 "fl_server/b.h": "#include <nlohmann/json_fwd.hpp>\n"}
        self.assertEqual([problem.split(":")[0] for problem in self.problems(files)], ["fl_server/a.h"])

    def test_who_names_a_standard_type_includes_its_header_or_one_of_ours_that_does(self):
        files = {"base/a.h": "#include <vector>\n", "base/a.cc": '#include "base/a.h"\nstd::vector<int> a;\n',
                 "base/b.cc": "std::vector<int> b;\n", "base/c.cc": '// std::map\nconst char* c = "std::map";\n'}
        problems = self.problems(files)
        self.assertEqual(len(problems), 1)
        self.assertIn("base/b.cc: names std::vector and does not include <vector>", problems[0])

    def test_a_source_reads_its_own_header_first(self):
        header = {"base/a.h": "#include <string>\n", "base/b.h": ""}
        for text in ("#include <string>\n#include \"base/a.h\"\n", '#include "base/b.h"\n#include "base/a.h"\n', "int a;\n"):
            problems = self.problems(header | {"base/a.cc": text})
            self.assertEqual(len(problems), 1)
            self.assertIn('base/a.cc: includes "base/a.h" before anything else', problems[0])
        self.assertEqual(self.problems(header | {"base/a.cc": '// A.\n#include "base/a.h"\n#include <string>\n',
                                                 "base/c.cc": "#include <string>\n"}), [])


if __name__ == "__main__":
    unittest.main()
