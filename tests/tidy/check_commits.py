#!/usr/bin/env python3
"""Messages of commits are `area: what` with a body that says why (CONTRIBUTING, "Commits"). Usage: check_commits.py [root].

Only what came behind FIRST is held to it: what has landed is not rewritten. A tree without git's history is skipped (77).
"""
import re
import subprocess
import sys

FIRST = "d6331ac7638887a9b36ad72acf687bdacd7ffcca"
SUBJECT_MAX = 72
SUBJECT = re.compile(r"[\w./+*{}, -]+: \S")


def problems(message):
    """What is wrong with one commit's message."""
    subject, _, body = message.partition("\n")
    if len(subject) > SUBJECT_MAX:
        yield f"the subject has {len(subject)} characters, at most {SUBJECT_MAX} are allowed"
    if not SUBJECT.match(subject):
        yield "the subject is not `area: what`"
    if not body.strip():
        yield "no body says why, and how it was seen"
    elif not body.startswith("\n"):
        yield "an empty line must stand between subject and body"


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)


def main(root):
    if git(root, "merge-base", "--is-ancestor", FIRST, "HEAD").returncode != 0:
        print(f"SKIPPED: the messages of commits are not looked at: {root} has no history back to {FIRST[:8]}")
        return 77
    log = git(root, "log", "--format=%h%n%B%x00", f"{FIRST}..HEAD").stdout
    found = 0
    commits = [entry.strip("\n") for entry in log.split("\0") if entry.strip()]
    for entry in commits:
        name, _, message = entry.partition("\n")
        for problem in problems(message):
            found += 1
            print(f"{name}: {message.splitlines()[0] if message else ''}: {problem}")
    print(f"{len(commits)} commits, {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
