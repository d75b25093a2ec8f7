"""docs/PYTHON.md's first program prints what stands below it; and what the package needs is NumPy alone."""
import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import unittest

import support  # first

import coterie

PAGE = (support.ROOT / "docs/PYTHON.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d+\.\d+")


class Page(support.Folder, unittest.TestCase):
    @unittest.skipUnless("COTERIE_PROGRAM" in os.environ, "a model of it is made by the program")
    def test_programs_print_what_stands_below_them(self):
        programs = re.findall(r"```python\n((?:(?!```).)*)```\n\n```\n(.*?)```", PAGE, re.S)
        self.assertEqual(len(programs), 2)
        command = re.search(r"`coterie (model new .*?)`", PAGE)[1]
        subprocess.run([os.environ["COTERIE_PROGRAM"], *command.split()], check=True, cwd=self.folder, capture_output=True)
        (self.folder / "examples").symlink_to(support.ROOT / "examples")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        for code, printed in programs:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, "docs/PYTHON.md", "exec"), {})
            # Other processors round otherwise: the last digits may differ, the words may not.
            self.assertEqual(NUMBER.sub("#", out.getvalue()), NUMBER.sub("#", printed))
            for seen, promised in zip(NUMBER.findall(out.getvalue()), NUMBER.findall(printed)):
                self.assertAlmostEqual(float(seen), float(promised), delta=0.01 if float(promised) < 2 else 1)
        self.assertTrue((self.folder / "trained.cotf").exists())

    def test_what_the_page_names_is_there(self):
        names = set(re.findall(r"\bcoterie\.([A-Z]\w+)", PAGE)) | set(re.findall(r"`([A-Z]\w+)\(", PAGE))
        self.assertGreater(len(names), 5)
        self.assertEqual(names - set(coterie.__all__), set())
        for kind, method in re.findall(r"\b(Model|Dataset|Trainer|Admin)\.(\w+)", PAGE):
            self.assertTrue(hasattr(getattr(coterie, kind), method), f"{kind}.{method}")
        for method in re.findall(r"\bmodel\.(\w+)(?=\W)", PAGE.replace("model.cotf", "")):
            self.assertTrue(hasattr(coterie.Model, method), method)
        for method in re.findall(r"\badmin\.(\w+)", PAGE):
            self.assertTrue(hasattr(coterie.Admin, method), method)

    def test_every_route_of_the_admin_plane_has_a_method(self):
        source = (support.ROOT / "bindings/python/coterie/_admin.py").read_text()
        source += (support.ROOT / "bindings/python/coterie/_http.py").read_text()
        routes = re.findall(r'^    \{"([A-Z]+)", "(/admin/v1/[^"]*)"', (support.ROOT / "fl_server/admin_api/routes.cc").read_text(), re.M)
        self.assertGreater(len(routes), 25)
        for method, route in routes:
            if route == "/admin/v1/session":
                continue  # a browser's: who has a token needs no cookie
            path = re.sub(r"\{\w+\}", "{}", route.removeprefix("/admin/v1/"))
            called = f'self._delete("{path}"' if method == "DELETE" else f'"{path}"'
            self.assertTrue(called in source, f"{method} {route}")

    def test_nothing_but_numpy_and_the_standard_library_is_imported(self):
        for path in sorted((support.ROOT / "bindings/python/coterie").glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else \
                    [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
                for name in names:
                    top = name.split(".")[0]
                    self.assertTrue(top in sys.stdlib_module_names | {"numpy", "typing_extensions"}, f"{path}: {name}")
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    annotated = [one.annotation for one in node.args.args + node.args.kwonlyargs if one.arg not in ("self", "cls")]
                    self.assertTrue(all(annotated) and (node.returns or node.name == "__init__"), f"{path}: {node.name} is not typed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
