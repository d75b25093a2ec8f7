"""Manual pages have every command and option of --help, and roff has nothing to complain of."""
import shutil
import subprocess

import help_tree

PROBLEMS = []
# What is shown, and what is wrong, by the programs that may be here. -ww: every warning.
JUDGES = {"groff": ["groff", "-man", "-ww", "-Tutf8"], "mandoc": ["mandoc", "-Tlint", "-Wwarning"]}


def shown(page):
    """The page as text, without overstrikes."""
    done = subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=160n", page], capture_output=True, text=True, check=False)
    return done.stdout.replace("\N{MINUS SIGN}", "-").replace("\N{HYPHEN}", "-")


def problems(program, tree, folder):
    """`tree`: what help_tree read of the program."""
    help_tree.run(program, "man", "-o", str(folder))
    pages = {path.name: path for path in folder.iterdir()}
    expected = {"coterie.1"} | {f"coterie-{path[0]}.1" for path in tree if path}
    if set(pages) != expected:
        PROBLEMS.append(f"pages are {sorted(set(pages) ^ expected)} apart from the commands")
    for name, command in JUDGES.items():
        if shutil.which(name) is None:
            print(f"left out: {name} is not installed")
            continue
        for page in pages.values():
            done = subprocess.run([*command, page], capture_output=True, text=True, check=False)
            said = "\n".join(line for line in (done.stdout if name == "mandoc" else "").splitlines() + done.stderr.splitlines()
                             if "missing date" not in line)  # a page that is made on every build has none
            if said:
                PROBLEMS.append(f"{name} of {page.name}: {said[:400]}")
    if shutil.which("groff"):
        texts = {name: shown(page) for name, page in pages.items()}
        for path, options in tree.items():
            text = texts["coterie.1" if not path else f"coterie-{path[0]}.1"]
            for wanted in [" ".join(["coterie", *path]), *options]:
                if wanted not in text:
                    PROBLEMS.append(f"{'-'.join(['coterie', *path])}: {wanted} is not in its page")
    if help_tree.run(program, "man", "job") != pages["coterie-job.1"].read_text():
        PROBLEMS.append("`coterie man job` is not the page that is installed")
    print(f"{len(pages)} pages, {len(tree)} commands")
    return PROBLEMS
