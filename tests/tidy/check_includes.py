#!/usr/bin/env python3
"""What files read. Usage: check_includes.py [root]; prints path: what is wrong and what to do.

1. Budgets: how much of our own code a header makes its includer read, and which heavy libraries it brings along. A build is
   slow because of what its files read; bytes are the same on every machine, seconds are not. Comments do not count: a
   contract costs a compiler next to nothing.
2. Standard headers: who names std::vector includes <vector>, by itself or through headers of ours. Precompiled headers would
   hide that from the compiler (cmake/CoteriePch.cmake).
3. A source reads the header of its name before anything else: it compiles that header alone, and a header with such a source
   needs no check of its own (tests/support/CoterieHeaderCheck.cmake).
"""
import functools
import os
import re
import sys

# ---------------------------------------------------------------- the rules

# The longest matching prefix decides: KiB of our own headers without comments, the file's own included, that one header may
# read.
BUDGETS_KIB = {
    "base/": 13,
    "proto/": 61,
    "proto/ring/": 12,
    "proto/messages/": 42,
    "secure/": 23,
    "secure/dp/": 38,
    "secure/he/": 23,
    "secure/secagg/": 45,
    "train_kernels/": 43,
    "aggregation/": 13,
    "scheduler/": 73,
    "device_sdk/": 38,
    "device_sdk/client/": 55,
    "device_sdk/watch/watch_judge.": 123,  # what a training has come to, which trainer.h says
    "device_sdk/runtime/": 141,
    "device_sdk/c_api/": 129,
    "device_sdk/agent/": 176,
    "fl_server/": 111,
    "fl_server/core/": 69,
    "fl_server/core/live_attempts.": 103,
    "fl_server/net/": 86,
    "fl_server/evaluation/": 82,
    "fl_server/finalize/": 97,
    "fl_server/fleet/": 108,
    "fl_server/runtime/": 133,
    "fl_server/device_api/": 166,
    "fl_server/admin_api/": 157,
    "tools/": 34,
    "tools/cli/": 139,
    "tools/debug/": 126,
    "tools/demo/": 131,
    "tools/job_plan/": 67,
    "tools/simulate/": 78,
    "tools/sweep/": 64,
    "tools/vertical/": 62,
    "tools/model/": 114,
    "tools/model_report/": 137,
    "tests/": 199,
    "tests/unit/device_sdk/agent/kept_state_fixture.": 201,  # the agent, its server and the runtime, once more
}
# Libraries that cost every includer seconds: they belong into sources, and into these headers.
HEAVY = r"nlohmann/json\.hpp|boost/|CLI/|flatbuffers/|google/protobuf/|onnx\.pb\.h|regex$"
HEAVY_MAY = [
    r"fl_server/net/(bell|event_looks|exchange|tls_stream|turns)\.h",  # coroutines need Asio's types
    r"tools/cli/help\.h",                                      # CLI11's formatter is inherited from
    r"proto/codec/.*",                                         # FlatBuffers, nowhere else
    r"model_import/onnx/.*",                                   # protobuf, nowhere else
    r"tests/.*",
]

# std::NAME -> headers any of which is enough. Names that nearly every header brings (size_t, move, pair) are left out.
ENOUGH = {
    "<algorithm>": "sort stable_sort lower_bound upper_bound find_if any_of all_of none_of transform clamp count_if",
    "<array>": "array",
    "<atomic>": "atomic atomic_flag memory_order_relaxed",
    "<bit>": "bit_cast popcount countr_zero countl_zero has_single_bit bit_width bit_ceil",
    "<charconv>": "from_chars to_chars",
    "<chrono>": "chrono",
    "<condition_variable>": "condition_variable condition_variable_any",
    "<deque>": "deque",
    "<filesystem>": "filesystem",
    "<fstream>": "ifstream ofstream fstream",
    "<functional>": "function",
    "<map>": "map multimap",
    "<memory>": "unique_ptr shared_ptr weak_ptr make_unique make_shared",
    "<mutex>": "mutex lock_guard unique_lock scoped_lock call_once",
    "<numeric>": "accumulate iota inner_product partial_sum",
    "<optional>": "optional nullopt",
    "<random>": "mt19937 mt19937_64 normal_distribution uniform_int_distribution",
    "<set>": "set multiset",
    "<span>": "span",
    "<sstream>": "ostringstream istringstream stringstream",
    "<string>": "string to_string stoi stoll stoull stod",
    "<string_view>": "string_view",
    "<thread>": "thread jthread this_thread",
    "<tuple>": "tuple tie",
    "<unordered_map>": "unordered_map",
    "<unordered_set>": "unordered_set",
    "<variant>": "variant monostate visit get_if holds_alternative",
    "<vector>": "vector",
}
ALSO = {  # the standard says that the first brings the names of the second
    "<string>": ["<string_view>"], "<filesystem>": ["<string>", "<string_view>", "<chrono>", "<vector>"],
    "<sstream>": ["<string>", "<string_view>"], "<fstream>": ["<string>"], "<iostream>": ["<string>"], "<regex>": ["<string>"],
    "<condition_variable>": ["<mutex>"], "<future>": ["<mutex>", "<thread>"], "<thread>": ["<chrono>"],
    "<mutex>": ["<chrono>"], "<random>": ["<vector>"], "<stop_token>": [], "<map>": [], "<set>": [],
}
# Libraries whose headers promise these, as their interfaces are made of them.
FROM_LIBRARIES = [
    (r"(gtest|gmock)/", "<string> <vector> <memory> <functional> <set> <map> <tuple> <sstream> <string_view> <atomic> <optional> <variant>"),
    (r"nlohmann/", "<string> <string_view> <vector> <map> <functional> <memory> <array> <optional>"),
    (r"CLI/", "<string> <vector> <functional> <memory> <map> <set> <sstream> <fstream> <algorithm> <optional>"),
    (r"boost/", "<string> <string_view> <vector> <functional> <memory> <chrono> <array> <optional>"),
    (r"flatbuffers/|_generated\.h", "<string> <vector> <memory> <functional> <algorithm>"),
    (r"prometheus/", "<string> <vector> <map> <memory>"),
    (r"onnx\.pb\.h|google/", "<string> <vector> <map> <memory>"),
    (r"hwy/", "<array>"),
]

# ---------------------------------------------------------------- applying them

FOLDERS = ["aggregation", "base", "device_sdk", "examples", "fl_server", "proto", "scheduler", "secure", "tests", "tools",
           "train_kernels"]
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|(<[^>]+>))', re.M)
COMMENT = re.compile(r"^[ \t]*//[^\n]*\n|[ \t]+//[^\n]*|/\*.*?\*/[ \t]*\n?", re.M | re.S)
WANTED = {name: header for header, names in ENOUGH.items() for name in names.split()}


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = sorted(os.path.relpath(os.path.join(folder, name), root)
                            for top in FOLDERS for folder, _, names in os.walk(os.path.join(root, top))
                            for name in names if name.endswith((".h", ".cc")))
        self.known = set(self.files)

    @functools.lru_cache(None)
    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    @functools.lru_cache(None)
    def code_bytes(self, path):
        return len(COMMENT.sub("", self.text(path)).encode())

    @functools.lru_cache(None)
    def includes(self, path):
        """(ours, others): what the file itself includes."""
        ours, others = [], []
        for quoted, angled in INCLUDE.findall(self.text(path)):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), quoted)) if quoted else ""
            if quoted in self.known or beside in self.known:
                ours.append(quoted if quoted in self.known else beside)
            else:
                others.append(angled or f"<{quoted}>")
        return ours, others

    @functools.lru_cache(None)
    def closure(self, path):
        """Our own files that compiling this one reads, itself included."""
        found, left = set(), [path]
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left += self.includes(at)[0]
        return frozenset(found)


def budget_of(path):
    matching = [prefix for prefix in BUDGETS_KIB if path.startswith(prefix)]
    return BUDGETS_KIB[max(matching, key=len)] if matching else None


def check_budgets(tree):
    for path in tree.files:
        if not path.endswith(".h"):
            continue
        reads = sorted(((tree.code_bytes(f), f) for f in tree.closure(path)), reverse=True)
        budget, kib = budget_of(path), sum(size for size, _ in reads) / 1024
        if budget is not None and kib > budget:
            largest = ", ".join(f"{f} ({size // 1024} KiB)" for size, f in reads[:5])
            yield (f"{path}: reads {kib:.0f} KiB of {len(reads)} headers of ours, its budget is {budget}: forward-declare, or "
                   f"include in the source. The largest: {largest}")
        for header in tree.includes(path)[1]:
            if re.match(HEAVY, header[1:-1]) and not any(re.fullmatch(may, path) for may in HEAVY_MAY):
                yield f"{path}: includes {header}, which is heavy for every includer: include it in the source (json_fwd.hpp)"


def standard_headers(tree, path):
    found = set()
    for file in tree.closure(path):
        for header in tree.includes(file)[1]:
            found |= {header, *ALSO.get(header, [])}
            for pattern, headers in FROM_LIBRARIES:
                if re.match(pattern, header[1:-1]):
                    found |= set(headers.split())
    return found


def without_comments_and_texts(text):
    return re.sub(r'//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', "", text, flags=re.S)


def check_standard_headers(tree):
    for path in tree.files:
        if path.startswith("examples/") or path.endswith("_inl.h"):
            continue
        has = standard_headers(tree, path)
        named = set(re.findall(r"\bstd::(?:ranges::)?(\w+)", without_comments_and_texts(tree.text(path))))
        for name in sorted(named & set(WANTED)):
            if WANTED[name] not in has:
                yield f"{path}: names std::{name} and does not include {WANTED[name]}, nor does a header of ours that it includes"


def check_own_header_first(tree):
    for path in tree.files:
        own = path.removesuffix(".cc") + ".h"
        if path.endswith(".cc") and own in tree.known:
            first = INCLUDE.search(tree.text(path))
            if first is None or first.group(1) != own:
                yield f'{path}: includes "{own}" before anything else, so that a header that leans on others is found'


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    tree = Tree(root)
    problems = [*check_budgets(tree), *check_standard_headers(tree), *check_own_header_first(tree)]
    print("\n".join(problems))
    print(f"{len(tree.files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
