#!/usr/bin/env python3
"""What `coterie job schema` prints is a JSON Schema that takes the jobs of the documents and refuses what the reader refuses.

Usage: job_schema_test.py ROOT COTERIE
"""
import copy
import json
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: there is no python3-jsonschema")
    sys.exit(77)

ROOT, COTERIE = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
MODEL = "0" * 64


def documented_jobs():
    """Each JSON object of the documents that names its rounds: (where, job)."""
    yield "examples/job.json", json.loads((ROOT / "examples/job.json").read_text())
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"^```json\n(.*?)^```", path.read_text(), re.M | re.S):
            try:
                found = json.loads(block)
            except ValueError:
                continue  # a part of one
            if isinstance(found, dict) and {"rounds", "name"} <= found.keys() and "id" not in found:
                yield str(path.relative_to(ROOT)), found


class JobSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(subprocess.check_output([COTERIE, "job", "schema"]))
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def problems(self, job):
        return [error.message for error in self.validator.iter_errors({"model": MODEL, **job})]

    def test_is_a_schema_by_itself(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)
        self.assertNotIn("#/components", json.dumps(self.schema))

    def test_takes_the_jobs_of_the_documents(self):
        count = 0
        for where, job in documented_jobs():
            count += 1
            self.assertEqual(self.problems(job), [], where)
        self.assertGreater(count, 0)

    def test_refuses_what_the_reader_refuses(self):
        good = json.loads((ROOT / "examples/job.json").read_text())
        for path, value in [(("rounds", "cuont"), 3), (("rounds", "count"), "3"), (("privacy", "level"), "activ"),
                            (("strategy", "schedule"), {"kind": "cosines"}), (("training", "optimizer"), {"kind": "sdg"}),
                            (("nmae",), "a")]:
            bad = copy.deepcopy(good)
            place = bad
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = value
            self.assertEqual(len(self.problems(bad)), 1, path)
            judged = subprocess.run([COTERIE, "job", "validate", "/dev/stdin"], input=json.dumps(bad), text=True, capture_output=True)
            self.assertNotEqual(judged.returncode, 0, f"{path}: {judged.stdout}")

    def test_every_key_says_what_it_is_of(self):
        def walk(schema, where):
            for name, member in schema.get("properties", {}).items():
                self.assertTrue("type" in member or "$ref" in member, f"{where}.{name}")
                if member.get("type") == "object":
                    self.assertIs(member.get("additionalProperties"), False, f"{where}.{name}")
                walk(member, f"{where}.{name}")
        walk(self.schema, "job")
        for name, definition in self.schema["$defs"].items():
            walk(definition, name)


unittest.main()
