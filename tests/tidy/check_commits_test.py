"""check_commits.py finds what it says it finds: each rule is broken once."""
import unittest

from check_commits import SUBJECT_MAX, problems

BODY = "\n\nReaders ask why.\n\nSeen: store_test.\n"


class Messages(unittest.TestCase):
    def test_area_what_and_why(self):
        self.assertEqual(list(problems("store: a row has the ledger's head" + BODY)), [])
        self.assertEqual(list(problems("README, docs/adr: one word for a thing" + BODY)), [])

    def test_a_long_subject(self):
        subject = "store: ".ljust(SUBJECT_MAX, "x")
        self.assertEqual(list(problems(subject + BODY)), [])
        self.assertIn("73 characters", next(problems(subject + "x" + BODY)))

    def test_no_area(self):
        for subject in ("mend the store", "store:", "store:no blank"):
            self.assertEqual(list(problems(subject + BODY)), ["the subject is not `area: what`"])

    def test_no_body(self):
        for body in ("", "\n", "\n\n\n"):
            self.assertEqual(list(problems("store: a row" + body)), ["no body says why, and how it was seen"])

    def test_no_empty_line(self):
        self.assertEqual(list(problems("store: a row\nwhy")), ["an empty line must stand between subject and body"])


if __name__ == "__main__":
    unittest.main()
