"""Finding the library: by variable, beside the package, on the system; and what is said if it is not there."""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import support  # first

from coterie import _find

PACKAGE = Path(_find.__file__).parent
LIBRARY = os.environ["COTERIE_LIBRARY"]


class Finding(support.Folder, unittest.TestCase):
    def run_python(self, code, package=PACKAGE.parent, **variables):
        # Without a sanitizer's runtime in front a library of such a build does not load: nothing here loads one.
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package), **variables}
        return subprocess.run([sys.executable, "-B", "-c", code], env=environment, capture_output=True, text=True)

    def assert_says(self, done, *words):
        self.assertEqual(done.returncode, 1)
        last = done.stderr.strip().splitlines()[-1]
        for word in ("ImportError", *words):
            self.assertIn(word, last)

    def test_what_the_variable_names_is_taken_or_nothing(self):
        missing = str(self.folder / "libcoterie.so")
        self.assert_says(self.run_python("import coterie", COTERIE_LIBRARY=missing), f"COTERIE_LIBRARY is {missing}")

    def test_another_library_is_refused(self):
        done = self.run_python("import coterie", COTERIE_LIBRARY="libc.so.6")
        self.assert_says(done, "libc.so.6 has no coterie_version")

    def test_the_one_beside_the_package_comes_first(self):
        copied = self.folder / "coterie"
        shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "lib*"))
        (copied / _find.file_names()[0]).write_text("no library")
        self.assert_says(self.run_python("import coterie", self.folder), "the library of this package",
                         str(copied / _find.file_names()[0]))

    def test_without_one_it_says_where_it_looked(self):
        copied = self.folder / "coterie"
        shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "lib*"))
        done = self.run_python("import ctypes.util; ctypes.util.find_library = lambda name: None\nimport coterie", self.folder)
        if done.returncode == 0:
            self.skipTest("this system has a libcoterie")
        self.assert_says(done, "libcoterie was not found", "libcoterie.so.0", str(copied), "COTERIE_LIBRARY", "coterie_wheel")

    def test_versions(self):
        for good in ("0.2.0", "0.2.9", "0.3.0", "0.2.0-dev"):
            _find.check_version(good)
        for bad in ("0.1.9", "1.0.0", "", "x", "0.2", "0.2.0.1"):
            with self.assertRaisesRegex(ImportError, "this package needs 0.2 or a later 0.x"):
                _find.check_version(bad)

    def test_the_package_is_of_the_trees_version(self):
        first = (support.ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"project(coterie VERSION {_find.VERSION} ", first)


if __name__ == "__main__":
    unittest.main(verbosity=2)
