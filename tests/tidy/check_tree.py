#!/usr/bin/env python3
"""The house rules that no compiler checks. Usage: check_tree.py [root]; prints path:line: rule: what and why.

First the rules, as data, so that the house can be seen at a glance; the code that applies them follows. To change the
house, change a table here and docs/ARCHITECTURE.md in one commit.
"""
import os
import re
import subprocess
import sys
from typing import NamedTuple

# ---------------------------------------------------------------- the house

# Who may include whom (section 2 of ARCHITECTURE). The longest matching folder decides; a folder may always include
# itself; "!x" takes x out again.
STRUCTS = ["base/", "proto/messages/", "proto/ring/"]
EVERYTHING = ["aggregation/", "base/", "device_sdk/", "fl_server/", "model_import/", "proto/", "scheduler/", "secure/",
              "tools/", "train_kernels/", "vertical/"]
OUTSIDE = ["aggregation/", "base/", "proto/", "scheduler/", "secure/"]  # of fl_server
STORES = ["fl_server/records/", "fl_server/settings/", "fl_server/store/", "!fl_server/store/s3/",
          "!fl_server/store/sql"]  # what is kept, and not by what
NO_SOCKETS = [f"fl_server/net/{name}.h" for name in ("blob_response", "entity_tag", "event_source", "http_types", "retry_after", "route_pattern")]
HANDLERS = OUTSIDE + STORES + ["fl_server/admin/", "fl_server/console/", "fl_server/json/", "fl_server/finalize/", "fl_server/privacy/",
                               "fl_server/events/", "fl_server/retention/", "fl_server/runtime/", "fl_server/telemetry/", "fl_server/vertical_jobs/vertical_jobs.h", "vertical/coordinator/leakage_row.h"]
MAY_INCLUDE = {
    "base/": ["!base/json/", "!base/os/"],
    "base/json/": ["base/"],
    "base/os/": ["base/"],
    "proto/ring/": ["base/"],
    "proto/messages/": ["base/", "proto/ring/"],
    "proto/codec/": ["base/", "proto/", "!proto/delta/"],
    "train_kernels/": ["base/"],
    "secure/": STRUCTS,
    "aggregation/": STRUCTS,
    "scheduler/": ["base/", "proto/messages/"],
    "scheduler/job/": ["aggregation/robust/", "aggregation/strategy/", "base/", "proto/messages/", "scheduler/", "secure/dp/"],  # arithmetic
    "device_sdk/": ["base/", "proto/", "secure/"],
    "device_sdk/runtime/": ["base/", "proto/", "secure/", "train_kernels/"],
    "device_sdk/client/": ["base/", "proto/", "secure/", "device_sdk/", "!device_sdk/transport/"],
    "device_sdk/transport/": ["base/", "proto/", "secure/", "device_sdk/"],
    "device_sdk/c_api/": ["base/", "proto/", "secure/", "device_sdk/", "!device_sdk/bindings/"],
    "device_sdk/bindings/": [],  # and what is installed
    "bindings/": [],  # it loads the installed library
    # Models of other programs: a reader a format, then a graph that belongs to none.
    "model_import/": [],  # each of its folders has a row of its own
    "model_import/graph/": ["base/", "proto/messages/"],
    "model_import/fold/": ["base/", "proto/", "model_import/graph/"],
    "model_import/patterns/": ["base/", "proto/messages/", "model_import/graph/"],
    "model_import/convert/": ["base/", "proto/", "model_import/fold/",
                              "model_import/graph/", "model_import/patterns/"],
    "model_import/export/": ["base/", "proto/", "device_sdk/runtime/", "model_import/fold/", "model_import/graph/"],
    "model_import/quantised/": ["base/", "device_sdk/runtime/", "model_import/convert/import_graph.h", "model_import/graph/"],
    "model_import/weights/": ["base/", "proto/messages/", "model_import/graph/small_floats.h"],
    "model_import/mapping/": ["base/", "device_sdk/runtime/", "proto/messages/", "model_import/graph/order.h",
                              "model_import/weights/"],
    # It judges the converter, so that it may not see it.
    "model_import/interpret/": ["base/", "proto/messages/", "model_import/graph/graph.h"],
    "model_import/onnx/": ["base/", "proto/", "device_sdk/runtime/", "model_import/convert/import_graph.h",
                           "model_import/export/export_graph.h", "model_import/export/grids.h", "model_import/graph/",
                           "model_import/quantised/"],
    "model_import/tflite/": ["base/", "proto/codec/limits.h", "proto/messages/", "model_import/convert/import_graph.h", "model_import/graph/",
                             "model_import/quantised/import_int8.h"],
    "model_import/tflite/read_": ["base/", "proto/codec/limits.h", "proto/generated/", "model_import/tflite/"],
    # The judge of TFLite: it sees the file's table, and nothing of what is made of it.
    "model_import/tflite_reference/": ["base/", "proto/messages/", "model_import/tflite/tflite_model.h"],
    "fl_server/": [],  # each of its folders has a row of its own
    "fl_server/core/": ["base/", "proto/messages/", "proto/ring/", "scheduler/", "secure/secagg/", "fl_server/records/"],
    "fl_server/oidc/": ["base/", "secure/crypto/", "fl_server/https/", "fl_server/records/role.h"],
    "fl_server/admin/": ["base/", "secure/crypto/", "secure/identity/", "fl_server/core/token_buckets.h", "fl_server/records/",
                         "fl_server/store/admin_store.h"],
    # The floor below the stores: what is stored, as plain structs; JSON that is read strictly; what a configuration sets.
    "fl_server/records/": ["base/", "proto/", "scheduler/", "secure/"],
    "fl_server/json/": ["base/", "proto/", "scheduler/", "aggregation/robust/", "aggregation/strategy/"],
    "fl_server/settings/": ["base/", "fl_server/core/", "scheduler/"],
    "fl_server/config/": ["base/", "scheduler/", "secure/crypto/", "fl_server/core/", "fl_server/json/", "fl_server/oidc/oidc_settings.h",
                          "fl_server/records/tenant.h", "fl_server/settings/"],
    "fl_server/telemetry/": ["base/", "scheduler/"],
    # What a stream says is told to whoever holds a connection, and to a node that asks: so its source is no plane's.
    "fl_server/events/": ["base/", "scheduler/", "fl_server/json/rfc3339.h", "fl_server/json/watch_json.h", "fl_server/net/event_source.h",
                          "fl_server/records/tenant.h", "fl_server/telemetry/"],
    "fl_server/privacy/": ["base/", "proto/", "scheduler/", "secure/", "fl_server/records/", "fl_server/store/blob_store.h"],
    "fl_server/store/": ["base/", "proto/messages/", "proto/ring/", "scheduler/", "secure/crypto/", "secure/dp/",
                         "fl_server/json/", "fl_server/records/", "fl_server/settings/"],
    # What a trace says is made apart from who collects it.
    "fl_server/tracing/": ["base/", "scheduler/", "secure/crypto/", "fl_server/events/", "fl_server/https/", "fl_server/telemetry/"],
    "fl_server/https/": ["base/"],
    "fl_server/store/sql/": ["base/"],
    "fl_server/store/s3/": ["base/", "secure/crypto/", "fl_server/settings/", "fl_server/store/blob_store.h"],
    "fl_server/finalize/": OUTSIDE + STORES + ["fl_server/privacy/", "fl_server/telemetry/"],
    # What may go is decided apart from its removal.
    "fl_server/retention/": ["base/", "scheduler/"] + STORES,
    "fl_server/retention/retention_plan.": ["base/", "scheduler/", "fl_server/records/", "fl_server/settings/"],
    "fl_server/evaluation/": OUTSIDE + ["device_sdk/runtime/", "fl_server/finalize/"],
    "fl_server/runtime/": OUTSIDE + STORES + ["fl_server/core/", "fl_server/finalize/", "fl_server/privacy/",
                                              "fl_server/events/", "fl_server/telemetry/"],
    "fl_server/fleet/": OUTSIDE + STORES + ["fl_server/core/", "fl_server/runtime/"],
    # Events are passed on from the node that leads.
    "fl_server/fleet/peer_events.": OUTSIDE + ["fl_server/events/", "fl_server/fleet/", "fl_server/net/", "fl_server/records/tenant.h"],
    "fl_server/fleet/remote_events.": OUTSIDE + ["fl_server/events/", "fl_server/fleet/", "fl_server/net/event_source.h"],
    "fl_server/fleet/peer_service.": OUTSIDE + ["fl_server/fleet/", "fl_server/net/", "fl_server/runtime/"],
    # Bytes: it knows no job, and of the frames only what an error is in.
    "fl_server/net/": ["base/", "proto/codec/", "proto/messages/", "secure/crypto/", "secure/tls/",
                       "fl_server/core/connection_table.h", "fl_server/core/queue_delay.h", "fl_server/core/token_buckets.h", "fl_server/core/turn_order.h",
                       "fl_server/settings/", "fl_server/store/blob_store.h", "fl_server/telemetry/"],
    "fl_server/device_api/": OUTSIDE + STORES + ["fl_server/core/", "fl_server/fleet/cohort_frames.h", "fl_server/net/",
                                                 "fl_server/runtime/"],
    # Handlers see requests and answers, never a socket: that is the service's, and the service knows no handler.
    "fl_server/console/": ["base/", "secure/crypto/", "fl_server/records/admin_token.h"] + NO_SOCKETS,
    "fl_server/admin_api/": HANDLERS + NO_SOCKETS + ["!fl_server/admin_api/admin_service.h"],
    "fl_server/admin_api/admin_service.": HANDLERS + ["fl_server/admin_api/", "fl_server/net/",
                                                      "!fl_server/admin_api/handlers.h"],
    "fl_server/vertical_jobs/": ["base/", "fl_server/events/", "fl_server/settings/", "vertical/coordinator/", "vertical/link/tls_link.h"],
    # What answers is decided apart from the threads and sockets that do it.
    "fl_server/serving/": ["base/", "proto/messages/", "device_sdk/runtime/", "fl_server/net/", "fl_server/telemetry/",
                           "secure/crypto/", "secure/identity/", "fl_server/core/token_buckets.h", "fl_server/records/tenant.h",
                           "fl_server/store/admin_store.h", "fl_server/store/blob_store.h", "fl_server/store/job_store.h",
                           "fl_server/store/model_store.h"],
    "fl_server/app/": OUTSIDE + ["fl_server/"],
    "vertical/": ["base/", "device_sdk/runtime/", "proto/", "secure/"],
    "tools/": EVERYTHING,
    "examples/": ["device_sdk/include/"],  # and what is installed
    "tests/": EVERYTHING,
}

# Folders of fl_server stand on floors: none includes, through others, what includes it, and all that one includes is
# below it in this drawing, which names each arrow ("a, b -> c, d (words)").
DRAWING = "docs/ARCHITECTURE.md"

# Third-party headers: include pattern -> where. Anything that is neither here, nor standard, nor ours is an error.
TLS = ["secure/crypto/", "secure/tls/", "fl_server/net/", "device_sdk/transport/"]
NETWORK = ["fl_server/net/", "device_sdk/transport/"]
COMPILED_ONCE = ["cmake/beast/"]  # the bodies of Asio and Beast, so that no other file compiles them
THIRD_PARTY = [
    ("FlatBuffers", r"flatbuffers/|proto/generated/", ["model_import/tflite/read_", "proto/codec/", "tests/unit/model_import/tflite/", "tests/unit/proto/"]),
    ("libsodium", r"sodium(\.h|/)", ["secure/crypto/", "tests/bench/"]),  # there as the limit
    ("OpenSSL", r"openssl/", TLS + ["secure/he/", "vertical/coordinator/coordinator_", "vertical/link/", "tests/unit/secure/", "tests/unit/device_sdk/transport/",  # there as an independent judge
                                       "tests/bench/"]),
    ("Beast", r"boost/beast", NETWORK + COMPILED_ONCE),
    ("Boost.CRC", r"boost/crc", ["tools/tensorboard/"]),
    ("Asio", r"boost/|asio", ["fl_server/fleet/peer_events."] + NETWORK + COMPILED_ONCE),
    ("nlohmann/json", r"nlohmann/", ["fl_server/admin_api/", "fl_server/config/", "fl_server/events/", "fl_server/fleet/", "fl_server/json/", "fl_server/net/",
                                   "fl_server/oidc/", "fl_server/tracing/", "tools/", "tests/"]),
    ("libcurl", r"curl/", ["fl_server/fleet/", "fl_server/https/", "fl_server/store/s3/"]),
    ("Open MPI", r"mpi\.h", ["tools/simulate/mpi/mpi_module."]),
    ("expat", r"expat", ["fl_server/store/s3/"]),
    ("SQLite", r"sqlite3", ["fl_server/store/sql/"]),
    ("libpq", r"libpq|postgresql/", ["fl_server/store/sql/"]),
    ("prometheus-cpp", r"prometheus/", ["fl_server/telemetry/"]),
    ("CLI11", r"CLI/", ["tools/", "fl_server/app/", "tests/simulation/", "tests/bench/"]),
    ("Highway", r"hwy/", ["train_kernels/"]),
    ("libjpeg-turbo", r"j(peglib|error)\.h", ["tools/data/", "tests/unit/tools/"]),
    ("libpng", r"png\.h", ["tools/data/", "tests/unit/tools/"]),
    ("zlib", r"zlib\.h", ["model_import/weights/", "tools/data/"]),
    ("protobuf and ONNX", r"google/protobuf/|onnx\.pb\.h", ["model_import/onnx/"]),
    ("Coterie as installed", r"coterie(/|(_train)?\.h)", ["device_sdk/c_api/", "device_sdk/include/", "device_sdk/bindings/", "tools/device/", "examples/", "tests/"]),
    ("JNI", r"jni\.h", ["device_sdk/bindings/java/"]),
    ("GoogleTest", r"(gtest|gmock)/", ["tests/"]),
]
BEAST_FILES_MAX = 3  # a file that includes it costs 12-23 CPU-seconds

# Decisions are made here: the same input gives the same output, in a test, in the simulator and on a phone.
PURE = ["proto/", "train_kernels/", "secure/", "aggregation/", "scheduler/", "fl_server/core/", "fl_server/events/",
        "fl_server/oidc/", "fl_server/retention/retention_plan.", "fl_server/serving/", "fl_server/tracing/", "device_sdk/client/", "fl_server/vertical_jobs/job_changes.", "vertical/coordinator/", "vertical/psi/", "vertical/stage/",
        "vertical/regression/", "vertical/resume/", "vertical/split/", "vertical/trees/"]
PURE_EXCEPT = [r"secure/identity/[^/]*_file\.(cc|h)",  # key files are read and written there
               r"secure/tls/",  # sockets, for those who have a network
               r"aggregation/accumulate/",  # several threads add to one sum; which comes first changes no bit
               r"fl_server/events/(event_hub|log_subscriber)\.(cc|h)",  # the shell around the log of events, and log lines
               r"fl_server/serving/(background_loader|inference_workers|model_follower|model_server|served_models|served_version|serving_service)\.(cc|h)",
               r"fl_server/tracing/(otlp_post|round_traces|span_exporter)\.(cc|h)",  # the shell that sends spans
               r"vertical/coordinator/coordinator_(client|connection|server)\.(cc|h)",  # the shells of a coordinator's machine
               r"fl_server/oidc/(bearer_verifier|code_exchange|https_get|https_question)\.(cc|h)"]  # the shell that fetches an issuer's keys
NOT_IN_PURE_INCLUDES = [
    (r"base/os/", "files and clocks"),
    (r"base/log\.h", "a log"),
    (r"(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token)$", "threads and locks"),
    (r"(filesystem|fstream|iostream|ctime|cstdio|stdio\.h|time\.h)$", "files, streams and clocks"),
    (r"(unistd|fcntl|dirent|pthread|signal|poll|netdb)\.h$|(sys|linux)/", "the operating system"),
]
NOT_IN_PURE_WORDS = r"\b(system_clock|steady_clock|high_resolution_clock|random_device|getenv|fopen|s?rand(?=\s*\())\b"

# A claim that nobody has checked: for an operator's words and for tests, never for a server that picks whom it wants.
ASSUMED_SAMPLING = r"\bassume_(poisson|without_replacement)\b"
MAY_ASSUME_SAMPLING = ["secure/dp/account/", "tools/", "tests/"]

NO_STREAMS = ["device_sdk/", "train_kernels/", "base/", "proto/"]  # <iostream> and its kin: 1.7 MB when static
STREAM_HEADERS = r"(iostream|ostream|istream|sstream|fstream|iomanip|strstream)$"

# Coroutines live where bytes meet the network, and in the services right above. Nowhere in the SDK: it builds with GCC
# 12, which miscompiles them.
COROUTINES = ["fl_server/net/", "tests/unit/fl_server/net/", "fl_server/admin_api/admin_service.", "fl_server/device_api/",
              "fl_server/fleet/peer_events.", "fl_server/fleet/peer_service.", "fl_server/serving/serving_service."]

COLUMNS_MAX = 120               # of C++ and its SQL and JSON
LINES_MAX = 500                  # of a source file: one subject each
FOLDER_FILES_MAX = {"base/": 15}  # C++ files right in the folder
NO_PRAGMA_ONCE = [r".*_inl\.h$",            # included once a CPU target (Highway)
                  r"device_sdk/include/.*"]  # C for any compiler: include guards
GENERATED = [r"tests/golden/", r"tests/fuzz/corpus/"]
MACHINE_PATHS = r"(?<![\w.$}/])/(work|home)/"
UNTRACKED_WORK = r"\b(TODO|FIXME)\b(?!\(#\d+\))"
SLEEPS = r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|\b(time\.)?sleep\s*\("
# A sentence of a comment has its subject first (CONTRIBUTING, Prose).
RIDDLE = r"(?:(?://+|/\*+|\n \*) *|[.!?:]\"? )(Of|Whom|Whose)\b"
RIDDLE_IN_TEXT = r"(?m)(?:^(?:[*-] |\d+\. )?|[.!?:] |\| )(Of|Whom|Whose)\b"
NO_WORDS_CHECK = [r"tests/tidy/"]  # this file and its test spell out what they forbid

STANDARD_C = set("""assert complex ctype dirent dlfcn errno fcntl fenv float immintrin inttypes limits locale math netdb
grp poll pthread pwd sched setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string
strings syslog termios tgmath threads time uchar unistd wchar wctype arm_neon cpuid execinfo malloc xlocale xmmintrin""".split())

# ---------------------------------------------------------------- applying them

CODE = (".cc", ".h", ".c", ".cpp", ".hpp")
TEXT = CODE + (".py", ".cmake", ".fbs", ".json", ".md", ".sh", ".yaml", ".yml", ".toml", ".txt", ".sql", ".service")


class Problem(NamedTuple):
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


def list_files(root):
    """Tracked files and new ones that git does not ignore; without git, all but build folders."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, check=True).stdout.decode().split("\0")
        inside = subprocess.run(["git", "-C", root, "rev-parse", "--show-prefix"], capture_output=True, check=True)
        if inside.stdout.strip() == b"":
            return sorted({f for f in listed if f and os.path.isfile(os.path.join(root, f))})
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in ("build", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def is_in(path, folders):
    return any(path.startswith(folder) for folder in folders)


def matches_any(path, patterns):
    return any(re.match(pattern, path) for pattern in patterns)


def blank(text):
    """The same text with comments and literals turned to blanks, newlines kept."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                       r"(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'", re.S)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes_of(text):
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', text, re.M):
        yield line_of(text, match.start()), match.group(1) == '"', match.group(2)


def may_include(path, target):
    folder = max((f for f in MAY_INCLUDE if path.startswith(f)), key=len, default=None)
    if folder is None:
        return True, path
    allowed = [folder] + [f for f in MAY_INCLUDE[folder] if not f.startswith("!")]
    denied = [f[1:] for f in MAY_INCLUDE[folder] if f.startswith("!")]
    return is_in(target, allowed) and not is_in(target, denied), folder


def is_standard(target):
    if target.endswith(".h"):
        return target[:-2] in STANDARD_C or is_in(target, ["sys/", "netinet/", "arpa/", "net/", "linux/"])
    return "/" not in target and "." not in target


def check_includes(path, text, ours):
    for line, quoted, target in includes_of(text):
        def bad(rule, message):
            return Problem(path, line, rule, message)

        third_party = next((t for t in THIRD_PARTY if re.match(t[1], target)), None)
        if third_party:
            name, _, where = third_party
            if not is_in(path, where):
                yield bad("third-party", f"{target} ({name}) may be included in {', '.join(where)} only")
        elif target.split("/")[0] + "/" in ours or quoted:
            ok, folder = may_include(path, target)
            if target.split("/")[0] + "/" not in ours and not path.startswith("examples/"):
                yield bad("include-path", f'"{target}" does not start at the repository root')
            elif not ok:
                allowed = ", ".join(MAY_INCLUDE[folder]) or "nothing"
                yield bad("dependency", f"{folder} may not include {target}; besides itself it may include {allowed}")
        elif not is_standard(target):
            yield bad("third-party", f"{target} is in no row of THIRD_PARTY: say there who may include it")
        if is_pure(path):
            for pattern, what in NOT_IN_PURE_INCLUDES:
                if re.match(pattern, target):
                    yield bad("pure", f"{target} brings {what} into a pure folder; hand the value in instead")
        if is_in(path, NO_STREAMS) and re.match(STREAM_HEADERS, target):
            yield bad("streams", f"<{target}> costs a device 1.7 MB; use std::string and std::to_chars")


def is_pure(path):
    return is_in(path, PURE) and not matches_any(path, PURE_EXCEPT)


def folder_arrows(texts):
    """(folder, folder) -> one include (path, line, target) that draws it, of fl_server's folders."""
    arrows = {}
    for path, text in texts.items():
        if not path.startswith("fl_server/") or not path.endswith(CODE):
            continue
        for line, quoted, target in includes_of(text):
            arrow = (os.path.dirname(path) + "/", os.path.dirname(target) + "/")
            if quoted and target.startswith("fl_server/") and arrow[0] != arrow[1]:
                arrows.setdefault(arrow, (path, line, target))
    return arrows


def reach(arrows, start):
    """The folders that `start` includes, itself or through others."""
    found, todo = set(), [start]
    while todo:
        here = todo.pop()
        for source, target in arrows:
            if source == here and target not in found:
                found.add(target)
                todo.append(target)
    return found


def check_folders(texts):
    arrows = folder_arrows(texts)
    for path in texts:
        folder = os.path.dirname(path) + "/"
        if path.endswith(CODE) and folder.startswith("fl_server/") and folder not in MAY_INCLUDE:
            yield Problem(path, 1, "floor", f"{folder} has no row in MAY_INCLUDE: say there what it may include")
    for (source, target), (path, line, header) in arrows.items():
        if source in reach(arrows, target):
            yield Problem(path, line, "circle", f"{target} includes {source}, maybe through others, so that {source} "
                                                f"may not include {header}")
    if DRAWING in texts:
        yield from check_drawing(arrows, texts[DRAWING])


def drawn_arrows(drawing):
    """Folder of fl_server -> what the drawing says it may include; folders from above to below."""
    block = re.search(r"^```\n(app +->.*?)^```$", drawing, re.M | re.S)
    drawn = {}
    for line in block.group(1).splitlines() if block else []:
        folders, arrow, targets = line.partition("->")
        if arrow:
            names = folders.replace(",", " ").split()
            drawn.update({name: "" for name in names})
        for name in names:
            drawn[name] += " " + (targets if arrow else line)
    return drawn


def check_drawing(arrows, drawing):
    drawn = drawn_arrows(drawing)
    floors = list(drawn)
    for (source, target), (path, line, header) in arrows.items():
        source, target = source.split("/")[1], target.split("/")[1]
        if source == target or drawn.get(source, "").strip() == "everything":
            continue
        if not re.search(rf"\b{target}\b", drawn.get(source, "")):
            yield Problem(path, line, "drawing", f"{DRAWING} does not say that {source} includes {target} ({header})")
        elif target in floors and floors.index(target) < floors.index(source):
            yield Problem(path, line, "drawing", f"{DRAWING} has {target} above {source}, which includes {header}")


def check_coroutines(path, code):
    for match in re.finditer(r"\bco_(await|return|yield)\b", code):
        if not is_in(path, COROUTINES):
            yield Problem(path, line_of(code, match.start()), "coroutine",
                          f"coroutines live in {', '.join(COROUTINES)} only")


def check_words(path, text, code):
    def find(pattern, where, rule, message):
        for match in re.finditer(pattern, where):
            yield Problem(path, line_of(where, match.start()), rule, f"{match.group().strip()}: {message}")

    if code is not None and is_pure(path):
        yield from find(NOT_IN_PURE_WORDS, code, "pure", "a pure folder takes time, chance and settings as arguments")
    if code is not None and not is_in(path, MAY_ASSUME_SAMPLING):
        yield from find(ASSUMED_SAMPLING, code, "sampling", "devices are not sampled; a sampler that tosses the coins says so itself")
    if path.startswith("tests/"):
        yield from find(SLEEPS, text if code is None else code, "sleep", "a test waits for an event, not for a while")
    if code is not None:
        for match in re.finditer(RIDDLE, text):
            if not code[match.start(1):match.end(1)].strip():  # a comment, or a literal that looks like one
                yield Problem(path, line_of(text, match.start(1)), "prose",
                              f"{match.group(1)}: a sentence begins with its subject")
    elif path.endswith(".md"):
        for match in re.finditer(RIDDLE_IN_TEXT, text):
            yield Problem(path, line_of(text, match.start(1)), "prose",
                          f"{match.group(1)}: a sentence begins with its subject")
    yield from find(UNTRACKED_WORK, text, "untracked-work", "write the number of its issue behind it: (#123)")
    yield from find(MACHINE_PATHS, text, "machine-path", "a path of one machine; take it from the caller")


def check_layout(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield Problem(path, number, "blank", "a tab; use spaces")
        if line != line.rstrip():
            yield Problem(path, number, "blank", "blanks at the end of the line")
        if path.endswith(CODE) and len(line) > COLUMNS_MAX:
            yield Problem(path, number, "columns", f"{len(line)} columns, at most {COLUMNS_MAX}")
    lines = text.count("\n")
    if path.endswith(CODE + (".py", ".cmake")) and lines > LINES_MAX:
        yield Problem(path, lines, "length", f"{lines} lines, at most {LINES_MAX}: find the second subject in it")
    if path.endswith((".h", ".hpp")) and "#pragma once" not in text and not matches_any(path, NO_PRAGMA_ONCE):
        yield Problem(path, 1, "pragma-once", "a header begins with #pragma once")


def mentioned_files(texts):
    """The source files that some CMakeLists.txt names, as patterns: ${...} counts as *."""
    patterns = set()
    for path, text in texts.items():
        if os.path.basename(path) != "CMakeLists.txt":
            continue
        folder = os.path.dirname(path)
        for token in re.split(r'[\s()";]+', re.sub(r"#[^\n]*", "", text)):
            if not token.endswith(CODE):
                continue
            token = token.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
            rooted = re.sub(r"^\$\{(PROJECT|CMAKE)_SOURCE_DIR\}/", "", token)
            full = rooted if rooted != token else os.path.normpath(os.path.join(folder, token))
            patterns.add(re.sub(r"\$\{[^}]*\}", "*", full))
    return patterns


def check_mentioned(texts):
    """Every source is built, every header is part of a public face (HEADERS) or included by somebody."""
    patterns = mentioned_files(texts)
    patterns |= {i[2] for path, text in texts.items() if path.endswith(CODE) for i in includes_of(text) if i[2] != path}
    wild = [re.sub(r"\\\*", "[^/]*", re.escape(p)) + "$" for p in patterns if "*" in p]
    for path in texts:
        if path.endswith(CODE) and path not in patterns and not matches_any(path, wild):
            yield Problem(path, 1, "dead-file", "no CMakeLists.txt mentions it and nobody includes it: use it or delete it")


def check_counts(texts):
    beast = [p for p, t in texts.items() if p.endswith(CODE) and any(re.match(r"boost/beast", i[2]) for i in includes_of(t))]
    for path in beast[BEAST_FILES_MAX:]:
        yield Problem(path, 1, "beast", f"the {len(beast)}. file that includes Beast, at most {BEAST_FILES_MAX}: "
                                        + ", ".join(beast))
    for folder, limit in FOLDER_FILES_MAX.items():
        files = [p for p in texts if p.endswith(CODE) and os.path.dirname(p) + "/" == folder]
        for path in files[limit:]:
            yield Problem(path, 1, "crowded", f"{folder} has {len(files)} files, at most {limit}: words everybody needs")


def check(root):
    texts = {}
    for path in list_files(root):
        if matches_any(path, GENERATED) or not (path.endswith(TEXT)):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            texts[path] = file.read()
    ours = {path.split("/")[0] + "/" for path in texts if "/" in path} | set(MAY_INCLUDE)
    ours = {folder.split("/")[0] + "/" for folder in ours}
    problems = []
    for path, text in texts.items():
        code = blank(text) if path.endswith(CODE) else None
        problems += check_layout(path, text)
        if code is not None:
            problems += check_includes(path, text, ours)
            problems += check_coroutines(path, code)
        if not matches_any(path, NO_WORDS_CHECK):
            problems += check_words(path, text, code)
    problems += check_mentioned(texts)
    problems += check_folders(texts)
    problems += check_counts(texts)
    return len(texts), sorted(problems)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    count, problems = check(os.path.abspath(root))
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
