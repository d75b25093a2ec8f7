#!/usr/bin/env python3
"""Which files cmake/unity_groups.py puts together, and which it must not."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/unity_groups.py"


def local(name):
    return f"namespace coterie {{\nnamespace {{\n\nint {name}(int x) {{\n  return x;\n}}\n\n}}  // namespace\n}}  // namespace coterie\n"


class UnityGroups(unittest.TestCase):
    def groups_of(self, files, files_max=16):
        """The groups of the sources among these files, as a list of sets."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).write_text(text)
            lines = "".join(f"room\t{root / name}\n" for name in files if name.endswith(".cc"))
            printed = subprocess.run([sys.executable, str(SCRIPT), str(root), str(files_max)], input=lines, text=True,
                                     capture_output=True, check=True).stdout
        found = {}
        for line in printed.splitlines():
            source, group = line.split("\t")
            found.setdefault(group, set()).add(pathlib.Path(source).name)
        return sorted(found.values(), key=sorted)

    def test_files_whose_names_differ_go_together(self):
        self.assertEqual(self.groups_of({"a.cc": local("first"), "b.cc": local("second")}), [{"a.cc", "b.cc"}])

    def test_a_local_name_is_once_in_a_group(self):
        self.assertEqual(self.groups_of({"a.cc": local("same"), "b.cc": local("same"), "c.cc": local("other")}),
                         [{"a.cc", "c.cc"}, {"b.cc"}])
        variable = "namespace {\n\nconstexpr std::pair<int, int> kSame{1, 2};\n\n}  // namespace\n"
        table = "namespace {\n\nconst char* const kSame[] = {};\n\n}  // namespace\n"
        self.assertEqual(self.groups_of({"a.cc": variable, "b.cc": table}), [{"a.cc"}, {"b.cc"}])
        several = "namespace {\n\nconstexpr size_t kOther = 8, kSame = 64;\n\n}  // namespace\n"
        self.assertEqual(self.groups_of({"a.cc": several, "b.cc": table}), [{"a.cc"}, {"b.cc"}])
        structure = "namespace {\n\nstruct Same {\n  int x;\n};\n\n}  // namespace\n"
        alias = "namespace {\n\nusing Same = int;\n\n}  // namespace\n"
        self.assertEqual(self.groups_of({"a.cc": structure, "b.cc": alias}), [{"a.cc"}, {"b.cc"}])

    def test_macros_are_local_names(self):
        self.assertEqual(self.groups_of({"a.cc": "#define COT_SAME 1\n", "b.cc": "#define COT_SAME 2\n"}), [{"a.cc"}, {"b.cc"}])

    def test_overloads_of_a_namespace_go_together(self):
        self.assertEqual(self.groups_of({"a.cc": "Problems validate(const A& a) {\n}\n", "b.cc": "Problems validate(const B& b) {\n}\n"}),
                         [{"a.cc", "b.cc"}])

    def test_a_local_name_is_none_of_a_header_that_its_neighbour_sees(self):
        files = {"deep.h": "Error same(int x);\n", "near.h": '#include "deep.h"\n', "a.cc": local("same"),
                 "b.cc": '#include "near.h"\n', "c.cc": "int other();\n"}
        self.assertEqual(self.groups_of(files), [{"a.cc", "c.cc"}, {"b.cc"}])

    def test_what_changes_the_rest_is_alone(self):
        files = {"a.cc": '#define HWY_TARGET_INCLUDE "a.cc"\n#include "b.h"\n', "b.cc": "#pragma GCC optimize 3\n", "c.cc": local("x")}
        self.assertEqual(self.groups_of(files), [{"c.cc"}])

    def test_a_group_is_no_larger_than_asked(self):
        self.assertEqual(len(self.groups_of({f"{i}.cc": local(f"f{i}") for i in range(5)}, files_max=2)), 3)


if __name__ == "__main__":
    unittest.main()
