"""Completions, tried in the shells that are here.

bash: every command and option of every --help is offered where it belongs, and values, files and arguments are. zsh and fish: their
own check of the syntax, and a few lines in fish; where a shell is not installed, that is said.
"""
import shlex
import shutil
import subprocess

import help_tree

# The line as typed, its last word the one that is completed -> what must be offered; "!" before a word: what must not be.
CASES = {
    "coterie jo": {"job"},
    "coterie ": {"demo", "job", "model", "completion", "man", "!create", "!--data-dir"},
    "coterie job cr": {"create"},
    "coterie --data-dir x job ": {"create", "list", "watch"},
    "coterie --data-dir=x job ": {"create", "list"},
    "coterie demo --model ": {"mlp", "cnn", "lenet5"},
    "coterie demo --model=c": {"cnn", "!mlp"},
    "coterie demo --model c": {"cnn", "!mlp"},
    "coterie job list --data-": {"--data-dir"},
    "coterie demo --data-d": {"!--data-dir"},
    "coterie job list -o ": {"table", "json"},
    "coterie completion ": {"bash", "zsh", "fish"},
    "coterie man j": {"job"},
    "coterie model inspect ./": {"./model.cotf"},
    "coterie model show ./": {"./model.cotf"},
    "coterie --data-dir ./": {"./data", "!./model.cotf"},
    "coterie job show ": {"!create"},
    "coterie nothing of this ": {"!create"},
}
PROBLEMS = []


def words_of(line):
    """As bash splits a line: `=` is a word of its own."""
    words = shlex.split(line.replace("=", " = "))
    return [*words, ""] if line.endswith((" ", "=")) else words


def in_bash(script, lines, folder):
    """Each line's offers, by one bash."""
    asked = "".join(
        f"COMP_WORDS=({' '.join(shlex.quote(word) for word in words_of(line))}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        "_coterie; printf '%s\\n' \"${COMPREPLY[@]}\" --end--\n" for line in lines)
    done = subprocess.run(["bash", "--norc", "--noprofile", "-c", f"set -u\nsource {shlex.quote(str(script))}\n{asked}"], cwd=folder,
                          capture_output=True, text=True, check=False)
    if done.stderr:
        PROBLEMS.append(f"bash says: {done.stderr}")
    return dict(zip(lines, (set(part.split("\n")) for part in done.stdout.split("--end--\n")), strict=False))


def check(shell, line, offered, wanted):
    for word in wanted:
        if word.startswith("!"):
            if word[1:] in offered:
                PROBLEMS.append(f"{shell}: `{line}` offers {word[1:]}")
        elif word not in offered:
            PROBLEMS.append(f"{shell}: `{line}` does not offer {word}, but {sorted(offered)[:12]}")


def check_bash(folder, tree):
    cases = dict(CASES)
    for path, options in tree.items():
        cases[" ".join(["coterie", *path, "--"])] = options
        if path:
            cases[" ".join(["coterie", *path])] = {path[-1]}
    offered = in_bash(folder / "coterie.bash", list(cases), folder)
    for line, wanted in cases.items():
        check("bash", line, offered.get(line, set()), wanted)
    print(f"bash: {len(cases)} lines")


def check_zsh(folder):
    if shutil.which("zsh") is None:
        return "zsh is not installed"
    done = subprocess.run(["zsh", "-n", folder / "coterie.zsh"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        PROBLEMS.append(f"zsh -n: {done.stderr}")
    return None


def check_fish(folder):
    if shutil.which("fish") is None:
        return "fish is not installed"
    done = subprocess.run(["fish", "--no-execute", folder / "coterie.fish"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        PROBLEMS.append(f"fish --no-execute: {done.stderr}")
    for line, wanted in CASES.items():
        if "inspect" in line or "model show" in line or line.endswith("./"):
            continue  # files: fish has its own order
        asked = f"source {shlex.quote(str(folder / 'coterie.fish'))}; complete -C {shlex.quote(line)}"
        done = subprocess.run(["fish", "--no-config", "-c", asked], cwd=folder, capture_output=True, text=True, check=False)
        offered = {row.split("\t")[0].split("=")[-1] for row in done.stdout.splitlines()}
        check("fish", line, offered, wanted)
    return None


def problems(program, tree, folder):
    """`tree`: what help_tree read of the program."""
    for name in ("bash", "zsh", "fish"):
        (folder / f"coterie.{name}").write_text(help_tree.run(program, "completion", name))
    (folder / "model.cotf").touch()
    (folder / "data").mkdir()
    check_bash(folder, tree)
    for reason in filter(None, [check_zsh(folder), check_fish(folder)]):
        print(f"left out: {reason}")
    return PROBLEMS
