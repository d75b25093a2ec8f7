#!/usr/bin/env python3
"""Breaks each rule of check_machines.py once and sees that it is found; and that what keeps them is left alone."""
import unittest

import check_machines

HEADER = """class Lamp {
 public:
  void step(int event);
  void check() const;

 private:
  StepCheck step_check_;
};
"""
SOURCE = """void Lamp::step(int) {
  if (step_check_.is_due(0)) check();
}

void Lamp::check() const {
  COT_INVARIANT(true, "a lamp is on or off");
  must_find(bulbs_, 1, "a lamp has a bulb");
}
"""
TARGET = "Lamp lamp_;\nvoid step() { lamp_.check(); }\n"
ROW = "| `Lamp` | `scheduler/lamp.h` | 2 | by itself | yes | `lamp_events` |\n"
GOOD = {"scheduler/lamp.h": HEADER, "scheduler/lamp.cc": SOURCE, "tests/fuzz/lamp_events_target.cc": TARGET,
        "tests/fuzz/CMakeLists.txt": "coterie_fuzz(lamp_events SOURCE lamp_events_target.cc)", "tests/README.md": ROW,
        "tests/fuzz/corpus/lamp_events/seed-1": "", "tests/simulation/sim.h": "std::optional<Lamp> lamp_;\n",
        "tests/simulation/sim.cc": "lamp_->check();\n"}


class CheckMachines(unittest.TestCase):
    def problems(self, changes=None):
        texts = {path: text for path, text in (GOOD | (changes or {})).items() if text is not None}
        return check_machines.check(texts)[1]

    def assert_one(self, words, changes):
        problems = self.problems(changes)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(words, problems[0])

    def test_a_machine_that_keeps_the_rules_is_left_alone(self):
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.problems({"scheduler/other.h": "class Other {\n public:\n  int a() const;\n};\n",
                                        "tools/lamp.h": "class Desk {\n public:\n  void step();\n};\n"}), [])

    def test_a_machine_by_its_name_or_its_step_states_invariants(self):
        for header in ("class SaleDesk {\n public:\n  int a();\n};\n", "class Sale {\n public:\n  Effects step(int event);\n};\n",
                       "class Sale {\n public:\n  std::optional<Instant> next_deadline() const;\n};\n"):
            self.assert_one("scheduler/sale.h:1: ", {"scheduler/sale.h": header})
        self.assert_one("states no invariants", {"scheduler/lamp.cc": "void Lamp::check() const {\n}\n", "tests/README.md": ""})

    def test_it_checks_itself_after_its_steps(self):
        self.assert_one("nothing checks it after a step",
                        {"scheduler/lamp.h": HEADER.replace("StepCheck step_check_;", "int a_;"),
                         "tests/README.md": ROW.replace("by itself", "")})

    def test_it_has_a_fuzz_target_that_is_built_and_has_seeds(self):
        self.assert_one("no fuzz target checks it", {"tests/fuzz/lamp_events_target.cc": "Lamp lamp_;\n",
                                                     "tests/README.md": ROW.replace("`lamp_events`", "")})
        self.assert_one("CMake does not know it", {"tests/fuzz/CMakeLists.txt": ""})
        self.assert_one("has no seeds", {"tests/fuzz/corpus/lamp_events/seed-1": None})

    def test_a_part_is_checked_with_the_machine_that_owns_it(self):
        owner = HEADER.replace("Lamp", "House").replace("StepCheck step_check_;", "StepCheck step_check_;\n  Lamp lamp_;")
        changes = {"scheduler/house.h": owner, "scheduler/house.cc": SOURCE.replace("Lamp", "House").replace(
            "must_find", "lamp_.check();\n  must_find"), "tests/fuzz/lamp_events_target.cc": TARGET.replace("Lamp", "House"),
                   "tests/simulation/sim.h": "House lamp_;\n",
                   "tests/README.md": ROW.replace("yes | `lamp_events`", "in `House` | in `House`") +
                   ROW.replace("Lamp", "House").replace("scheduler/lamp", "scheduler/house")}
        self.assertEqual(self.problems(changes), [])

    def test_the_table_is_what_the_code_has(self):
        for row in ("", ROW.replace("| 2 |", "| 3 |"), ROW.replace(" yes ", "  "), ROW.replace("lamp.h", "light.h")):
            self.assert_one("is not what the code has: | `Lamp` | `scheduler/lamp.h` | 2 | by itself | yes | `lamp_events` |",
                            {"tests/README.md": row})
        self.assert_one("is no machine", {"tests/README.md": ROW + ROW.replace("Lamp", "Torch")})

    def test_a_bare_at_is_named(self):
        self.assert_one("scheduler/lamp.cc:2: a bare .at()", {"scheduler/lamp.cc": SOURCE.replace("(0)", "(bulbs_.at(1))")})


if __name__ == "__main__":
    unittest.main()
