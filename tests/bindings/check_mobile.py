#!/usr/bin/env python3
"""What examples/android, examples/ios and their recipes name is in this tree. Usage: check_mobile.py ROOT [KOTLINC JAR].

No NDK, no Xcode and no Swift compiler is here: the files are parsed. With kotlinc what needs no Android is compiled."""
import pathlib
import plistlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(sys.argv[1]).resolve()
ANDROID, IOS = ROOT / "examples/android", ROOT / "examples/ios"
JAVA, SWIFT = ROOT / "device_sdk/bindings/java", ROOT / "device_sdk/bindings/swift"
KOTLIN = ROOT / "device_sdk/bindings/kotlin/Coterie.kt"
ANDROID_NAME = "{http://schemas.android.com/apk/res/android}name"
RECIPES = [ROOT / f"tools/dev/{name}.sh" for name in ("build_sodium_android", "make_aar", "make_xcframework")]
OPTIONS = {"COTERIE_SDK_TRANSPORT", "COTERIE_BUILD_SERVER", "COTERIE_BUILD_TESTS"}  # without all three OpenSSL is linked
PROBLEMS = []


def expect(condition, where, what):
    if not condition:
        PROBLEMS.append(f"{where.relative_to(ROOT)}: {what}")


def members(name):
    """Public members of a Java class and of the classes in it."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (JAVA / f"src/org/coterie/{name}.java").read_text(), flags=re.S)
    return set(re.findall(r"\b(\w+)\s*(?:=|;|\()", text)) | set(re.findall(r"^\s+(\w+),?$", text, re.M))


def balanced(path):
    text = re.sub(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', "", path.read_text(), flags=re.S)
    for opening, closing in ("()", "{}", "[]"):
        expect(text.count(opening) == text.count(closing), path, f"{opening} and {closing} do not match")


def cmake_options(where):
    known = {name for path in [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake"), *ROOT.glob("device_sdk/**/CMakeLists.txt")]
             for name in re.findall(r"\bCOTERIE_\w+", path.read_text())}
    named = dict(re.findall(r"-D(COTERIE_\w+)=([\w$]*)", where.read_text()))
    expect(set(named) <= known, where, f"sets {sorted(set(named) - known)}, which CMake does not know")
    expect(OPTIONS <= {name for name, value in named.items() if value == "OFF"}, where, f"does not turn off {sorted(OPTIONS)}")


def check_recipes():
    for script in RECIPES:
        judge = ["shellcheck"] if shutil.which("shellcheck") else ["bash", "-n"]
        done = subprocess.run([*judge, script], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, script, done.stdout + done.stderr)
        expect(script.stat().st_mode & 0o111, script, "may not be run")
        done = subprocess.run([script], capture_output=True, text=True, check=False)
        expect(done.returncode == 2 and script.name in done.stderr, script, f"says nothing of its usage: {done.stderr}")
        for path in re.findall(r"(?<![$\w])(?:device_sdk|examples|tools)/[\w/.]+", script.read_text()):
            made = path.endswith((".xcframework", ".a"))
            expect(made or (ROOT / path.rstrip(".")).exists(), script, f"there is no {path}")
    for script in RECIPES[1:]:
        cmake_options(script)
    targets = set(re.findall(r"add_(?:library|custom_target)\((\w+)", (JAVA / "CMakeLists.txt").read_text())) | {"coterie_static"}
    named = {name for script in RECIPES for name in re.findall(r"--target (\w+)", script.read_text())}
    expect(named and named <= targets, RECIPES[1], f"builds {sorted(named - targets)}, which CMake does not know")


def check_gradle():
    settings = (ANDROID / "settings.gradle.kts").read_text()
    modules = re.findall(r'":(\w+)"', settings)
    library, app = (ANDROID / f"{name}/build.gradle.kts" for name in ("coterie", "app"))
    expect(sorted(modules) == ["app", "coterie"], ANDROID / "settings.gradle.kts", f"modules {modules}")
    for path in ANDROID.rglob("*.kts"):
        balanced(path)
        for file in re.findall(r'"((?:\.\./)+[^"]+)"', path.read_text()):
            expect((path.parent / file).exists(), path, f"there is no {file}")
    text = library.read_text()
    cmake_options(library)
    expect('targets += "coterie_jni"' in text, library, "builds another library than the classes load")
    abis = set(re.findall(r'"(arm[\w-]+|x86\w*)"', text))
    in_recipes = [set(re.findall(r"^for abi in ([^;]+);", script.read_text(), re.M)[0].split()) for script in RECIPES[:2]]
    expect(all(abis == these for these in in_recipes), library, f"has {sorted(abis)}, the recipes {in_recipes}")
    least = {re.search(r"minSdk = (\d+)", path.read_text())[1] for path in (library, app)}
    least.add(re.search(r'minSdkVersion="(\d+)"', (JAVA / "aar/AndroidManifest.xml").read_text())[1])
    least |= set(re.findall(r"android-(\d+)", RECIPES[1].read_text())) | set(re.findall(r"^api=(\d+)", RECIPES[0].read_text(), re.M))
    expect(len(least) == 1, library, f"several minSdk: {sorted(least)}")


def check_kotlin():
    sources = sorted((ANDROID / "app/src/main/java").rglob("*.kt"))
    ours = {path.stem for path in sources}
    functions = set(re.findall(r"^fun (?:\w+\.)?(\w+)", KOTLIN.read_text(), re.M))
    for path in sources:
        text = path.read_text()
        balanced(path)
        for name in re.findall(r"^import org\.coterie\.(\w+)", text, re.M):
            expect((JAVA / f"src/org/coterie/{name}.java").exists() or name in functions, path, f"there is no org.coterie.{name}")
    text = (ANDROID / "app/src/main/java/org/coterie/example/FederatedWorker.kt").read_text()
    where = ANDROID / "app/src/main/java/org/coterie/example/FederatedWorker.kt"
    inner = re.search(r"deviceRequirements \{(.*?)\n\s*\}", text, re.S)[1]
    outer = text[text.index("Client(data"):text.index("private fun takePart")].replace(inner, "")
    for block, name in ((inner, "Requirements"), (outer, "Client")):
        for member in re.findall(r"^\s+(\w+) = ", block, re.M):
            expect(member in members(name), where, f"{name} has no {member}")
    for member in re.findall(r"\bprogress\.(\w+)", text):
        expect(member in members("Progress"), where, f"Progress has no {member}")
    state = (ANDROID / "app/src/main/java/org/coterie/example/DeviceState.kt").read_text()
    for member in re.findall(r"\bnow\.(\w+) =", state):
        expect(member in members("Conditions"), where, f"Conditions has no {member}")
    for manifest in ANDROID.rglob("AndroidManifest.xml"):
        for element in xml.etree.ElementTree.parse(manifest).iter():
            name = element.get(ANDROID_NAME, "")
            expect(not name.startswith(".") or name[1:] in ours, manifest, f"there is no class {name}")


def compile_kotlin(kotlinc, jar):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([kotlinc, "-no-reflect", "-cp", jar, "-d", folder, KOTLIN,
                               ANDROID / "app/src/main/java/org/coterie/example/PlatformTransport.kt"], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, KOTLIN, f"kotlinc: {done.stderr[-2000:]}")


def check_swift():
    package = SWIFT / "Package.swift"
    recipe = RECIPES[2].read_text()
    framework = re.search(r'framework = "([^"]+)"', package.read_text())[1]
    expect(f"device_sdk/bindings/swift/{framework}" in recipe, RECIPES[2], f"does not make {framework}")
    library = "".join(path.read_text() for path in sorted(SWIFT.rglob("Sources/**/*.swift")))
    for path in [package, *IOS.glob("*.swift"), *SWIFT.rglob("Sources/**/*.swift")]:
        balanced(path)
    task = (IOS / "FederatedTask.swift").read_text()
    for owner in ("options", "requirements", "now", "progress", "request", "header"):
        for path in sorted(IOS.glob("*.swift")):
            if owner == "request" and path.name == "FederatedTask.swift":
                continue  # the system's
            for member in re.findall(rf"\b{owner}\.([a-z]\w*)", path.read_text()):
                expect(re.search(rf"\b(?:(?:var|let|func) {member}\b|{member}: )", library), path, f"there is no {owner}.{member}")
    plist = plistlib.loads((IOS / "Info.plist").read_bytes())
    expect(plist["BGTaskSchedulerPermittedIdentifiers"] == re.findall(r'static let identifier = "([^"]+)"', task), IOS / "Info.plist", "permits another task")
    expect("processing" in plist["UIBackgroundModes"], IOS / "Info.plist", "lacks the mode of a processing task")


check_recipes()
check_gradle()
check_kotlin()
check_swift()
if len(sys.argv) == 4:
    compile_kotlin(*sys.argv[2:])
else:
    print("left out: kotlinc is not installed")
for problem in PROBLEMS:
    print(problem)
sys.exit(1 if PROBLEMS else 0)
