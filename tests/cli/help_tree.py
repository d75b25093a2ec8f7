"""What `coterie COMMAND --help` lists, command by command: the judge of what is made from the same grammar in another way."""
import re
import subprocess


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def section(text, head):
    found = re.search(rf"^{head}:\n((?:  .*\n|\n)*)", text, re.M)
    return found.group(1) if found else ""


def read(program, path=()):
    """path -> its help, and then the same of every command below. Each is asked once: a program with sanitizers takes half a second."""
    text = run(program, *path, "--help")
    found = {path: text}
    for name in re.findall(r"^  ([a-z][a-z-]*)", section(text, "Subcommands"), re.M):
        found |= read(program, (*path, name))
    return found


def options(text):
    """The options that a help lists."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", "\n".join(
        re.split(r"\s{2,}", line.strip())[0] for line in section(text, "Options").splitlines() if line.strip().startswith("-"))))
