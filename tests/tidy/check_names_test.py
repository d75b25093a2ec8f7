#!/usr/bin/env python3
"""What check_names.py finds, and what it leaves alone."""
import unittest

import check_names


def problems(**files):
    """Of files by their names, of which each is a source in base/."""
    return check_names.check([(f"base/{name}.cc", text) for name, text in files.items()])[1]


def room(text, namespace="coterie"):
    return f"namespace {namespace} {{\n{text}\n}}  // namespace {namespace}\n"


class CheckNames(unittest.TestCase):
    def test_a_name_that_two_files_define_is_named_with_both_places(self):
        found = problems(a=room("struct Plan {};"), b="// A plan.\n" + room("\nclass Plan final : public Base {\n};"))
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0], r"^base/b\.cc:4: coterie::Plan is a type of base/a\.cc:2, too: give one of them another name")

    def test_each_kind_of_type_and_of_definition_counts(self):
        for text in ("enum class Plan : uint8_t { one };", "union Plan { int a; };", "template <typename T>\nclass Plan {};",
                     "class [[nodiscard]] Plan {};", "struct alignas(64) Plan {};", "class COT_EXPORT Plan {};"):
            with self.subTest(text):
                self.assertEqual(len(problems(a=room("struct Plan {};"), b=room(text))), 1)
        self.assertEqual(len(problems(a=room("struct Plan {};", "coterie::os"), b=room(room("struct Plan {};", "os")))), 1)
        three = room("struct Plan {};")
        self.assertEqual(len(problems(a=three, b=three, c=three)), 2)

    def test_what_is_no_second_definition_is_left_alone(self):
        for text in ("class Plan;", "using Plan = int;", "// struct Plan {};", 'const char* kText = "struct Plan {";',
                     'const char* kText = R"(struct Plan {)";', "struct Plan make();", "class Other { struct Plan {}; };",
                     "void f() { struct Plan {}; }", "namespace {\nstruct Plan {};\n}", "template <>\nstruct Plan<int> {};",
                     "template <class Plan>\nvoid f(Plan plan) {}", "class Other { friend class Plan; };",
                     "struct Plan* next() { return nullptr; }"):
            with self.subTest(text):
                self.assertEqual(problems(a=room("struct Plan {};"), b=room(text)), [])
        self.assertEqual(problems(a=room("struct Plan {};"), b=room("struct Plan {};", "coterie::vertical")), [])
        self.assertEqual(problems(a="#ifdef A\n" + room("struct Plan {};") + "#else\n" + room("struct Plan {};") + "#endif\n"), [])


if __name__ == "__main__":
    unittest.main()
