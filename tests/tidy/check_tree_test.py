#!/usr/bin/env python3
"""Each rule of check_tree.py on a small tree that keeps it and on one that breaks it."""
import os
import re
import subprocess
import tempfile
import unittest

import check_tree

HEADER = "#pragma once\n"


def problems_of(files, git=False):
    """(path, line, rule) of every problem in a tree of these files. Every .cc is built, unless a CMakeLists.txt is given."""
    with tempfile.TemporaryDirectory() as root:
        names = [f for f in files if f.endswith((".cc", ".h", ".c"))]
        if "CMakeLists.txt" not in files:
            files = dict(files, **{"CMakeLists.txt": "add_library(all " + " ".join(names) + ")\n"})
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        if git:
            subprocess.run(["git", "init", "-q", root], check=True)
        return [(p.path, p.line, p.rule) for p in check_tree.check(root)[1]]


class CheckTreeTest(unittest.TestCase):
    def good(self, path, text):
        self.assertEqual(problems_of({path: text}), [], f"{path}: {text}")

    def bad(self, path, text, rule, line=1):
        self.assertEqual(problems_of({path: text}), [(path, line, rule)], f"{path}: {text}")

    def include(self, path, target, rule=None):
        text = f"#include {target if target[0] == '<' else chr(34) + target + chr(34)}\n"
        self.bad(path, text, rule) if rule else self.good(path, text)

    def test_dependencies_follow_the_drawing(self):
        allowed = [("base/os/a.cc", "base/result.h"), ("proto/codec/a.cc", "proto/messages/plan.h"),
                   ("proto/messages/a.cc", "proto/ring/ring_vector.h"), ("train_kernels/a.cc", "base/cpu.h"),
                   ("secure/dp/a.cc", "proto/ring/ring_vector.h"), ("secure/dp/a.cc", "secure/crypto/random.h"),
                   ("aggregation/a.cc", "proto/messages/plan.h"), ("scheduler/a.cc", "proto/messages/plan.h"),
                   ("device_sdk/runtime/a.cc", "train_kernels/dense.h"),
                   ("device_sdk/client/a.cc", "device_sdk/runtime/trainer.h"),
                   ("device_sdk/c_api/a.cc", "device_sdk/transport/https.h"),
                   ("fl_server/core/a.cc", "scheduler/round/round.h"), ("fl_server/core/a.cc", "secure/secagg/server.h"),
                   ("fl_server/oidc/a.cc", "fl_server/records/role.h"),
                   ("fl_server/config/a.cc", "fl_server/settings/http_limits.h"),
                   ("fl_server/store/a.cc", "fl_server/records/batch.h"), ("fl_server/store/s3/a.cc", "fl_server/store/blob_store.h"),
                   ("fl_server/store/sql/a.cc", "base/os/file.h"), ("fl_server/finalize/a.cc", "fl_server/store/blob_store.h"),
                   ("fl_server/evaluation/a.cc", "device_sdk/runtime/model.h"),
                   ("fl_server/runtime/a.cc", "fl_server/finalize/finalizer.h"),
                   ("fl_server/fleet/a.cc", "fl_server/runtime/fleet_link.h"),
                   ("fl_server/fleet/peer_service.cc", "fl_server/net/exchange.h"),
                   ("fl_server/net/a.cc", "fl_server/core/turn_order.h"), ("fl_server/net/a.cc", "fl_server/store/blob_store.h"),
                   ("fl_server/device_api/a.cc", "fl_server/net/exchange.h"),
                   ("fl_server/device_api/a.cc", "fl_server/fleet/cohort_frames.h"),
                   ("fl_server/admin_api/jobs.cc", "fl_server/net/http_types.h"),
                   ("fl_server/admin_api/admin_service.cc", "fl_server/net/exchange.h"),
                   ("fl_server/admin_api/admin_service.cc", "fl_server/admin_api/route.h"),
                   ("fl_server/app/a.cc", "fl_server/store/sql/sqlite.h"),
                   ("vertical/a.cc", "device_sdk/runtime/model.h"), ("tools/a.cc", "fl_server/app/app.h"),
                   ("examples/a.cc", "device_sdk/include/coterie.h"), ("tests/a.cc", "fl_server/net/router.h")]
        for path, target in allowed:
            self.include(path, target)
        forbidden = [("base/a.cc", "base/os/file.h"), ("base/a.cc", "proto/messages/plan.h"),
                     ("proto/ring/a.cc", "proto/messages/plan.h"), ("proto/messages/a.cc", "proto/codec/codec.h"),
                     ("train_kernels/a.cc", "proto/messages/plan.h"), ("secure/dp/a.cc", "proto/codec/codec.h"),
                     ("aggregation/a.cc", "secure/dp/noise.h"), ("scheduler/a.cc", "proto/ring/ring_vector.h"),
                     ("scheduler/a.cc", "aggregation/sum.h"), ("device_sdk/runtime/a.cc", "device_sdk/client/session.h"),
                     ("device_sdk/client/a.cc", "device_sdk/transport/https.h"),
                     ("device_sdk/client/a.cc", "train_kernels/dense.h"), ("device_sdk/client/a.cc", "fl_server/a.h"),
                     ("fl_server/core/a.cc", "device_sdk/runtime/model.h"),
                     ("fl_server/core/a.cc", "proto/codec/codec.h"), ("fl_server/core/a.cc", "aggregation/sum.h"),
                     ("fl_server/core/a.cc", "fl_server/store/round_store.h"),
                     ("fl_server/admin/a.cc", "fl_server/store/round_store.h"), ("fl_server/oidc/a.cc", "fl_server/records/tenant.h"),
                     ("fl_server/config/a.cc", "fl_server/net/http_server.h"),
                     ("fl_server/telemetry/a.cc", "fl_server/core/ingest.h"), ("fl_server/privacy/a.cc", "fl_server/store/round_store.h"),
                     ("fl_server/store/a.cc", "fl_server/core/ingest.h"), ("fl_server/store/a.cc", "fl_server/admin/audit_log.h"),
                     ("fl_server/records/a.cc", "fl_server/store/round_store.h"),
                     ("fl_server/store/sql/a.cc", "fl_server/store/round_store.h"),
                     ("fl_server/store/s3/a.cc", "fl_server/store/round_store.h"),
                     ("fl_server/finalize/a.cc", "fl_server/core/ingest.h"),
                     ("fl_server/evaluation/a.cc", "device_sdk/client/session.h"),
                     ("fl_server/evaluation/a.cc", "fl_server/store/round_store.h"),
                     ("fl_server/runtime/a.cc", "fl_server/net/http_types.h"),
                     ("fl_server/runtime/a.cc", "fl_server/store/sql_round_store.h"),
                     ("fl_server/fleet/a.cc", "fl_server/net/exchange.h"),
                     ("fl_server/fleet/peer_events.cc", "fl_server/admin_api/route.h"),
                     ("fl_server/events/a.cc", "fl_server/net/exchange.h"),
                     ("fl_server/fleet/peer_service.cc", "fl_server/device_api/device_service.h"),
                     ("fl_server/net/a.cc", "scheduler/job/job.h"), ("fl_server/net/a.cc", "fl_server/store/round_store.h"),
                     ("fl_server/net/a.cc", "fl_server/core/ingest_machine.h"),
                     ("fl_server/device_api/a.cc", "fl_server/admin/audit_log.h"),
                     ("fl_server/device_api/a.cc", "fl_server/fleet/fleet_lead.h"),
                     ("fl_server/admin_api/jobs.cc", "fl_server/net/exchange.h"),
                     ("fl_server/admin_api/jobs.cc", "fl_server/admin_api/admin_service.h"),
                     ("fl_server/admin_api/jobs.cc", "fl_server/store/sql_round_store.h"),
                     ("fl_server/admin_api/admin_service.cc", "fl_server/admin_api/handlers.h"),
                     ("fl_server/app/a.cc", "device_sdk/runtime/model.h"),
                     ("vertical/a.cc", "fl_server/core/ingest.h"), ("vertical/a.cc", "device_sdk/client/session.h"),
                     ("tools/a.cc", "tests/support/matchers.h"), ("examples/a.cc", "device_sdk/client/session.h"),
                     ("examples/a.cc", "base/result.h")]
        for path, target in forbidden:
            self.include(path, target, "dependency")

    def test_every_folder_of_the_house_is_drawn(self):
        for folder in check_tree.EVERYTHING + ["examples/", "tests/"]:
            self.assertTrue(any(f.startswith(folder) for f in check_tree.MAY_INCLUDE), folder)
        self.assertEqual(problems_of({"fl_server/attic/a.cc": ""}), [("fl_server/attic/a.cc", 1, "floor")])
        self.assertEqual(problems_of({"fl_server/store/a.cc": ""}), [])

    def test_no_folder_of_the_server_includes_what_includes_it(self):
        def circles(files):
            return [(path, line) for path, line, rule in problems_of(files) if rule == "circle"]

        def include(folder):
            return f'#include "fl_server/{folder}/b.h"\n'

        down = {"fl_server/runtime/a.cc": include("store"), "fl_server/store/a.cc": "\n" + include("core")}
        self.assertEqual(circles(down), [])
        self.assertEqual(circles(dict(down, **{"fl_server/core/a.cc": include("finalize")})), [])
        self.assertEqual(circles(dict(down, **{"fl_server/core/a.cc": include("runtime")})),
                         [("fl_server/core/a.cc", 1), ("fl_server/runtime/a.cc", 1), ("fl_server/store/a.cc", 2)])

    def test_the_drawing_names_each_arrow_and_has_it_go_down(self):
        def drawn(*lines):
            files = {"fl_server/runtime/a.cc": '#include "fl_server/store/b.h"\n',
                     "docs/ARCHITECTURE.md": "```\n" + "\n".join(("app -> everything",) + lines) + "\n```\n"}
            return [(path, line) for path, line, rule in problems_of(files) if rule == "drawing"]

        wrong = [("fl_server/runtime/a.cc", 1)]
        self.assertEqual(drawn("admin, runtime -> core,", "   store (all of it)", "store -> json"), [])
        self.assertEqual(drawn("runtime -> core", "store -> json"), wrong)
        self.assertEqual(drawn("store -> json", "runtime -> store"), wrong)
        self.assertEqual(drawn("store -> json"), wrong)

    def test_includes_start_at_the_root(self):
        self.include("secure/dp/a.cc", "noise.h", "include-path")
        self.include("secure/dp/a.cc", "../dp/noise.h", "include-path")
        self.include("examples/a.cc", "helper.h", "dependency")

    def test_third_party_headers_stay_in_their_folders(self):
        rows = [("<flatbuffers/flatbuffers.h>", "proto/codec/a.cc", "proto/messages/a.cc"),
                ("proto/generated/wire_generated.h", "proto/codec/a.cc", "fl_server/core/a.cc"),
                ("<sodium.h>", "secure/crypto/a.cc", "secure/secagg/a.cc"),
                ("<openssl/evp.h>", "secure/crypto/a.cc", "fl_server/store/a.cc"),
                ("<openssl/ssl.h>", "fl_server/net/a.cc", "fl_server/app/a.cc"),
                ("<boost/asio.hpp>", "device_sdk/transport/a.cc", "device_sdk/client/a.cc"),
                ("<boost/asio.hpp>", "fl_server/net/a.cc", "fl_server/admin_api/admin_service.cc"),
                ("<boost/beast.hpp>", "fl_server/net/a.cc", "fl_server/core/a.cc"),
                ("<nlohmann/json.hpp>", "fl_server/config/a.cc", "fl_server/core/a.cc"),
                ("<curl/curl.h>", "fl_server/https/a.cc", "fl_server/oidc/a.cc"),
                ("<mpi.h>", "tools/simulate/mpi/mpi_module.cc", "tools/simulate/simulate.cc"),
                ("<expat.h>", "fl_server/store/s3/a.cc", "fl_server/oidc/a.cc"),
                ("<sqlite3.h>", "fl_server/store/sql/a.cc", "fl_server/store/a.cc"),
                ("<libpq-fe.h>", "fl_server/store/sql/a.cc", "fl_server/runtime/a.cc"),
                ("<zlib.h>", "tools/data/a.cc", "fl_server/net/a.cc"),
                ("<zstd.h>", "tools/data/a.cc", "tools/vertical/a.cc"),
                ("<jpeglib.h>", "model_io/a.cc", "tools/data/a.cc"),
                ("<png.h>", "model_io/a.cc", "tools/data/a.cc"),
                ("<google/protobuf/message_lite.h>", "model_import/onnx/a.cc", "model_import/convert/a.cc"),
                ("<onnx.pb.h>", "model_import/onnx/a.cc", "model_import/convert/a.cc"),
                ("<grpcpp/grpcpp.h>", "fl_server/serving/grpc/a.cc", "fl_server/serving/a.cc"),
                ("coterie.h", "device_sdk/c_api/a.cc", "fl_server/core/a.cc"),
                ("<coterie.h>", "examples/a.cc", "device_sdk/runtime/a.cc"),
                ("<coterie_train.hpp>", "device_sdk/bindings/a.cc", "device_sdk/client/a.cc"),
                ("<jni.h>", "device_sdk/bindings/java/a.c", "device_sdk/c_api/a.cc"),
                ("<prometheus/counter.h>", "fl_server/telemetry/a.cc", "fl_server/net/a.cc"),
                ("<CLI/CLI.hpp>", "tools/a.cc", "fl_server/config/a.cc"),
                ("<dnnl.hpp>", "device_sdk/delegates/onednn/a.cc", "device_sdk/runtime/delegate/a.cc"),
                ("<CL/cl.h>", "device_sdk/delegates/opencl/a.cc", "device_sdk/delegates/onednn/a.cc"),
                ("<hwy/highway.h>", "train_kernels/a.cc", "aggregation/a.cc"),
                ("<gtest/gtest.h>", "tests/a.cc", "base/a.cc")]
        for name, pattern, _ in check_tree.THIRD_PARTY:
            self.assertTrue(any(re.match(pattern, row[0].strip("<>")) for row in rows), f"no example of {name}")
        for target, good, bad in rows:
            self.include(good, target)
            self.include(bad, target, "third-party")

    def test_an_unknown_library_must_be_entered(self):
        self.include("tools/a.cc", "<lz4.h>", "third-party")
        self.include("tools/a.cc", "<fmt/core.h>", "third-party")
        self.include("tools/a.cc", "<vector>")
        self.include("tools/a.cc", "<sys/stat.h>")
        self.include("tools/a.cc", "<unistd.h>")

    def test_pure_folders_have_no_world(self):
        for path in ["proto/codec/a.cc", "train_kernels/a.cc", "secure/secagg/a.cc", "aggregation/a.cc",
                     "scheduler/a.cc", "fl_server/core/a.cc", "device_sdk/client/a.cc"]:
            self.include(path, "base/os/clock.h", "pure")
            for header in ["<thread>", "<mutex>", "<condition_variable>", "<filesystem>", "<unistd.h>", "base/log.h"]:
                self.include(path, header, "pure")
            for word in ["std::chrono::system_clock::now()", "std::chrono::steady_clock::now()", "rand()", "srand(1)",
                         'std::getenv("A")', 'std::fopen("a", "r")', "std::random_device d"]:
                self.bad(path, f"void f() {{\n  {word};\n}}\n", "pure", 2)
            self.good(path, "// the system_clock\nconst char* s = \"rand()\";\nint operand(int);\nint grand(int);\n")
        self.include("fl_server/store/a.cc", "<thread>")
        self.include("fl_server/store/a.cc", "base/os/file.h")
        self.include("secure/identity/key_file.cc", "base/os/file.h")
        self.include("secure/identity/key.cc", "base/os/file.h", "pure")

    def test_sampling_is_assumed_by_operators_and_tests_alone(self):
        claim = 'auto s = Sampling::assume_poisson(0.1, "me");\n'
        self.bad("fl_server/core/a.cc", claim, "sampling", 1)
        self.bad("secure/dp/ledger/a.cc", claim, "sampling", 1)
        self.good("tools/cli/a.cc", claim)
        self.good("secure/dp/account/a.cc", claim)

    def test_devices_carry_no_streams(self):
        for header in ["<iostream>", "<sstream>", "<fstream>", "<iomanip>"]:
            self.include("device_sdk/runtime/a.cc", header, "streams")
            self.include("base/a.cc", header, "streams")
            self.include("tools/a.cc", header)

    def test_coroutines_keep_to_their_folders(self):
        for path in ["fl_server/store/a.cc", "fl_server/runtime/a.cc", "fl_server/app/a.cc", "fl_server/fleet/a.cc",
                     "fl_server/admin_api/jobs.cc", "device_sdk/client/a.cc", "device_sdk/transport/a.cc", "base/a.cc"]:
            self.bad(path, "int f() {\n  co_return 1;\n}\n", "coroutine", 2)
        for path in ["fl_server/net/a.cc", "fl_server/device_api/a.cc", "fl_server/admin_api/admin_service.cc",
                     "fl_server/fleet/peer_service.cc"]:
            self.good(path, "int f() {\n  co_return co_await g();\n}\n")
        self.good("fl_server/store/a.cc", "// co_return\n")

    def test_beast_is_included_three_times(self):
        files = {f"fl_server/net/{name}.cc": "#include <boost/beast/http.hpp>\n" for name in "abc"}
        self.assertEqual(problems_of(files), [])
        files["fl_server/net/d.cc"] = files["fl_server/net/a.cc"]
        self.assertEqual(problems_of(files), [("fl_server/net/d.cc", 1, "beast")])

    def test_base_stays_small(self):
        files = {f"base/f{i:02}.h": HEADER for i in range(15)}
        self.assertEqual(problems_of(files), [])
        files["base/f15.h"] = HEADER
        self.assertEqual(problems_of(files), [("base/f15.h", 1, "crowded")])

    def test_files_are_short_and_tidy(self):
        self.good("base/a.cc", "\n" * 500)
        self.bad("base/a.cc", "\n" * 501, "length", 501)
        self.bad("tests/a.py", "\n" * 501, "length", 501)
        self.bad("base/a.cc", "int a;\n\tint b;\n", "blank", 2)
        self.bad("base/a.cc", "int a; \n", "blank", 1)
        self.bad("docs/a.md", "text  \n", "blank", 1)
        self.bad("base/a.h", "int a();\n", "pragma-once")
        self.good("base/a.h", HEADER)
        self.good("train_kernels/a_inl.h", "int a();\n")
        self.good("device_sdk/include/a.h", "#ifndef A_H\n#define A_H\n#endif\n")

    def test_work_that_is_left_has_a_number(self):
        word = "TO" + "DO"
        self.bad("base/a.cc", f"int a;\n// {word}: later\n", "untracked-work", 2)
        self.bad("docs/a.md", f"{word} later\n", "untracked-work")
        self.good("base/a.cc", f"// {word}(#12): later\n")
        self.good("base/a.cc", "// MASTODON\n")

    def test_tests_do_not_sleep(self):
        self.bad("tests/a.cc", "void f() { std::this_thread::sleep_for(1ms); }\n", "sleep")
        self.bad("tests/a.cc", "void f() { sleep(1); }\n", "sleep")
        self.bad("tests/a.py", "import time\ntime.sleep(1)\n", "sleep", 2)
        self.good("tests/a.cc", "// sleep(1)\nvoid asleep(int);\n")
        self.good("fl_server/app/a.cc", "void f() { sleep(1); }\n")

    def test_no_path_of_one_machine(self):
        for folder in ["wo" + "rk", "ho" + "me"]:
            self.bad("docs/a.md", f"see /{folder}/someone/file\n", "machine-path")
            self.bad("tools/a.py", f"P = '/{folder}/x'\n", "machine-path")
            self.good("docs/a.md", f"see build/{folder}/x, https://example.org/{folder}/x and ${{DIR}}/{folder}/x\n")

    def test_no_dead_files(self):
        cmake = {"CMakeLists.txt": "", "base/CMakeLists.txt": "coterie_library(b SOURCES a.cc\n  os/b.cc)  # c.cc\n",
                 "base/a.cc": '#include "base/used.h"\n', "base/os/b.cc": "", "base/used.h": HEADER}
        self.assertEqual(problems_of(cmake), [])
        self.assertEqual(problems_of(dict(cmake, **{"base/c.cc": ""})), [("base/c.cc", 1, "dead-file")])
        self.assertEqual(problems_of(dict(cmake, **{"base/unused.h": HEADER})), [("base/unused.h", 1, "dead-file")])
        selfish = dict(cmake, **{"base/self.h": HEADER + '#include "base/self.h"\n'})
        self.assertEqual(problems_of(selfish), [("base/self.h", 1, "dead-file")])
        wild = {"CMakeLists.txt": "foreach(x a b)\n add(fuzz/${x}_fuzz.cc ${PROJECT_SOURCE_DIR}/tools/${x}/main.cc)\n",
                "fuzz/a_fuzz.cc": "", "tools/b/main.cc": ""}
        self.assertEqual(problems_of(wild), [])
        self.assertEqual(problems_of(dict(wild, **{"tools/b/c/main.cc": ""})), [("tools/b/c/main.cc", 1, "dead-file")])

    def test_a_sentence_of_a_comment_begins_with_its_subject(self):
        for comment in ["// Of the sum.", "int a;  // Whose it is.", "// A sum. Whom it counts.", "// One.\n// Of two, the first.",
                        "/* A sum. Of two. */", "/* Of two. */"]:
            self.bad("base/a.cc", comment + "\n", "prose", comment.count("\n") + 1)
        self.good("base/a.cc", "// The mean of a sum. Often whose.\nbool Of(int Whose);\nint Whom;\n")
        self.bad("scheduler/round/a.cc", "// Of the sum.\n", "prose", 1)  # every folder
        for text in ["Of the sum.", "* Whose it is.", "A sum. Whom it counts.", "| a | Of two, the first |"]:
            self.bad("docs/a.md", text + "\n", "prose", 1)
        self.good("docs/a.md", "Most of two.\n* The one whose sum it is. Office.\n")

    def test_a_line_of_code_fits_in_120_columns(self):
        self.good("base/a.cc", "// " + "é" * 117 + "\n")
        self.bad("base/a.cc", "int a;\n// " + "a" * 118 + "\n", "columns", 2)
        self.good("docs/a.md", "a" * 200 + "\n")

    def test_sees_new_files_but_not_what_git_ignores(self):
        files = {".gitignore": "/build/\n", "base/a.cc": "\t\n", "build/a.cc": "\t\n"}
        self.assertEqual({p[0] for p in problems_of(files, git=True)}, {"base/a.cc"})
        self.assertEqual({p[0] for p in problems_of(files)}, {"base/a.cc"})

    def test_literals_and_comments_are_not_code(self):
        blank = check_tree.blank('a "b\\"c" /* d\ne */ f // g\nR"x(h)" )x" i \'"\' j 1\'000 k')
        for kept in "afijk":
            self.assertIn(kept, blank)
        for gone in "bcdegh":
            self.assertNotIn(gone, blank)
        self.assertEqual(blank.count("\n"), 2)
        self.assertIn("1'000", blank)

    def test_the_program_fails_on_a_bad_tree_and_on_an_empty_one(self):
        program = check_tree.__file__
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(subprocess.run(["python3", program, root], stdout=subprocess.DEVNULL, check=False).returncode, 1)
            with open(os.path.join(root, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write("add_library(a a.cc)\n")
            with open(os.path.join(root, "a.cc"), "w", encoding="utf-8") as file:
                file.write("int a;\n")
            self.assertEqual(subprocess.run(["python3", program, root], stdout=subprocess.DEVNULL, check=False).returncode, 0)
            with open(os.path.join(root, "a.cc"), "w", encoding="utf-8") as file:
                file.write("int a; \n")
            done = subprocess.run(["python3", program, root], stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("a.cc:1: blank: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
