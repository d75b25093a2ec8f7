"""The house rules that no compiler checks, as data: who may include whom, where each library is used, what is pure, how code reads.

To change the house, change a table here and docs/ARCHITECTURE.md in one commit. check_tree.py applies them.
"""
# Who may include whom (section 2 of ARCHITECTURE). The longest matching folder decides; a folder may always include
# itself; "!x" takes x out again.
STRUCTS = ["base/", "proto/messages/", "proto/ring/"]
EVERYTHING = ["aggregation/", "base/", "device_sdk/", "fl_server/", "model_import/", "model_io/", "proto/", "scheduler/", "secure/",
              "tools/", "train_kernels/", "vertical/"]
OUTSIDE = ["aggregation/", "base/", "proto/", "scheduler/", "secure/"]  # of fl_server
STORES = ["fl_server/records/", "fl_server/settings/", "fl_server/store/", "!fl_server/store/s3/",
          "!fl_server/store/sql"]  # what is kept, and not by what
NO_SOCKETS = [f"fl_server/net/{name}.h" for name in ("blob_response", "entity_tag", "event_source", "http_types", "retry_after", "route_pattern")]
HANDLERS = OUTSIDE + STORES + ["fl_server/admin/", "fl_server/console/", "fl_server/json/", "fl_server/finalize/", "fl_server/model_view/", "fl_server/privacy/",
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
    "device_sdk/delegates/": ["base/", "proto/messages/", "device_sdk/runtime/delegate/", "device_sdk/runtime/op_rule.h"],
    "device_sdk/tiny/": [],  # C for boards: the standard's headers alone
    "device_sdk/bindings/": [],  # and what is installed
    "bindings/": [],  # it loads the installed library
    # Models of other programs: a reader a format, then a graph that belongs to none.
    "model_import/": [],  # each of its folders has a row of its own
    "model_import/flat/": ["base/"],
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
    "model_import/interpret/": ["base/", "proto/messages/", "model_import/graph/graph.h", "model_import/graph/host_value.h"],
    "model_import/onnx/": ["base/", "proto/", "device_sdk/runtime/", "model_import/convert/import_graph.h",
                           "model_import/export/export_graph.h", "model_import/export/grids.h", "model_import/graph/",
                           "model_import/quantised/"],
    "model_import/tflite/": ["base/", "proto/codec/limits.h", "proto/messages/", "model_import/convert/import_graph.h", "model_import/graph/",
                             "model_import/quantised/import_int8.h"],
    "model_import/tflite/read_": ["base/", "proto/codec/limits.h", "proto/generated/", "model_import/flat/", "model_import/tflite/"],
    "model_import/mslite/": ["base/", "proto/codec/limits.h", "proto/messages/", "model_import/convert/import_graph.h", "model_import/graph/"],
    "model_import/mslite/read_": ["base/", "proto/codec/limits.h", "proto/generated/", "model_import/flat/", "model_import/mslite/"],
    # The judge of TFLite: it sees the file's table, and nothing of what is made of it.
    "model_import/tflite_reference/": ["base/", "proto/messages/", "model_import/tflite/tflite_model.h"],
    # What people have as what a model takes: one encoding where it is trained and where it answers.
    "model_io/": ["base/", "device_sdk/runtime/bilinear_resize.h", "proto/messages/"],
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
    "fl_server/events/": ["base/", "scheduler/", "fl_server/json/rfc3339.h", "fl_server/json/evaluated_heads_json.h", "fl_server/json/watch_json.h", "fl_server/net/event_source.h",
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
    "fl_server/model_view/": OUTSIDE + ["device_sdk/runtime/", "device_sdk/watch/tensor_statistics.h", "fl_server/finalize/", "fl_server/store/blob_store.h"],
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
    "fl_server/serving/grpc/": ["base/", "fl_server/serving/", "fl_server/core/token_buckets.h", "fl_server/net/peer_address.h"],
    "fl_server/serving/": ["base/", "proto/messages/", "device_sdk/runtime/", "fl_server/json/json_reader.h", "fl_server/net/",
                           "fl_server/telemetry/", "model_io/",
                           "secure/crypto/", "secure/identity/", "fl_server/core/token_buckets.h", "fl_server/records/tenant.h",
                           "fl_server/store/admin_store.h", "fl_server/store/blob_store.h", "fl_server/store/job_store.h",
                           "fl_server/store/model_store.h"],
    "fl_server/app/": OUTSIDE + ["fl_server/"],
    "vertical/": ["base/", "device_sdk/runtime/", "proto/", "secure/"],
    "tools/": EVERYTHING,
    "examples/": ["device_sdk/include/"],  # and what is installed
    "examples/microcontroller/": ["board.h", "coterie_tiny.h", "examples.h"],  # and what `coterie model export --c` writes
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
    ("FlatBuffers", r"flatbuffers/|proto/generated/", ["model_import/flat/", "model_import/mslite/read_", "model_import/tflite/read_", "proto/codec/", "tests/unit/model_import/mslite/", "tests/unit/model_import/tflite/", "tests/unit/proto/"]),
    ("libsodium", r"sodium(\.h|/)", ["secure/crypto/", "tests/bench/"]),  # there as the limit
    ("OpenSSL", r"openssl/", TLS + ["secure/he/", "vertical/coordinator/coordinator_", "vertical/link/", "examples/microcontroller/", "tests/unit/secure/", "tests/unit/device_sdk/transport/",  # there as an independent judge
                                       "tests/bench/"]),
    ("Beast", r"boost/beast", NETWORK + COMPILED_ONCE),
    ("Asio", r"boost/|asio", ["fl_server/fleet/peer_events.", "tests/unit/fl_server/net/"] + NETWORK + COMPILED_ONCE),
    ("nlohmann/json", r"nlohmann/", ["fl_server/admin_api/", "fl_server/config/", "fl_server/events/", "fl_server/fleet/", "fl_server/json/", "fl_server/model_view/", "fl_server/net/",
                                   "fl_server/oidc/", "fl_server/serving/serving_steps.", "fl_server/tracing/", "model_io/", "tools/", "tests/"]),
    ("libcurl", r"curl/", ["fl_server/fleet/", "fl_server/https/", "fl_server/store/s3/"]),
    ("Open MPI", r"mpi\.h", ["tools/simulate/mpi/mpi_module."]),
    ("expat", r"expat", ["fl_server/store/s3/"]),
    ("SQLite", r"sqlite3", ["fl_server/store/sql/"]),
    ("libpq", r"libpq|postgresql/", ["fl_server/store/sql/"]),
    ("prometheus-cpp", r"prometheus/", ["fl_server/telemetry/"]),
    ("CLI11", r"CLI/", ["tools/", "fl_server/app/", "tests/simulation/", "tests/bench/"]),
    ("Highway", r"hwy/", ["train_kernels/"]),
    ("oneDNN", r"dnnl", ["device_sdk/delegates/onednn/"]),
    ("OpenCL", r"CL/cl", ["device_sdk/delegates/opencl/"]),
    ("libjpeg-turbo", r"j(peglib|error)\.h", ["model_io/", "tests/unit/tools/"]),
    ("libpng", r"png\.h", ["model_io/", "tests/unit/tools/"]),
    ("zlib", r"zlib\.h", ["model_import/weights/", "tools/data/"]),
    ("zstd", r"zstd\.h", ["tools/data/"]),
    ("ONNX", r"onnx(_value)?\.pb\.h", ["model_import/onnx/"]),
    ("protobuf", r"google/protobuf/", ["fl_server/serving/grpc/", "model_import/onnx/"]),
    ("gRPC", r"grpc(pp)?/|open_inference\.(grpc\.)?pb\.h", ["fl_server/serving/grpc/", "tests/integration/server/serving_grpc_test.cc", "tests/unit/fl_server/serving/grpc/"]),
    ("Coterie as installed", r"coterie(/|(_train)?\.h)", ["device_sdk/c_api/", "device_sdk/include/", "device_sdk/bindings/", "tools/device/", "examples/", "tests/"]),
    ("JNI", r"jni\.h", ["device_sdk/bindings/java/"]),
    ("GoogleTest", r"(gtest|gmock)/", ["tests/"]),
]
BEAST_FILES_MAX = 3  # a file that includes it costs 12-23 CPU-seconds

# Decisions are made here: the same input gives the same output, in a test, in the simulator and on a phone.
PURE = ["proto/", "train_kernels/", "secure/", "aggregation/", "scheduler/", "fl_server/core/", "fl_server/events/",
        "fl_server/oidc/", "fl_server/retention/retention_plan.", "fl_server/serving/", "fl_server/tracing/", "device_sdk/client/", "fl_server/vertical_jobs/job_changes.", "vertical/coordinator/", "vertical/psi/", "vertical/stage/",
        "vertical/exact/", "vertical/regression/", "vertical/resume/", "vertical/split/", "vertical/trees/"]
PURE_EXCEPT = [r"secure/identity/[^/]*_file\.(cc|h)",  # key files are read and written there
               r"train_kernels/cpu_targets\.h",  # what the CPU can do: on ARM the operating system alone tells it
               r"secure/tls/",  # sockets, for those who have a network
               r"aggregation/accumulate/",  # several threads add to one sum; which comes first changes no bit
               r"fl_server/events/(event_hub|log_subscriber)\.(cc|h)",  # the shell around the log of events, and log lines
               r"fl_server/serving/(background_loader|grpc/grpc_door|grpc/infer_call|inference_router|inference_workers|metrics_board|model_follower|model_server|served_models|served_version|serving_service|steps_file)\.(cc|h)",
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
                  r"device_sdk/(include|tiny)/.*"]  # C for any compiler: include guards
GENERATED = [r"tests/golden/", r"tests/fuzz/corpus/"]
MACHINE_PATHS = r"(?<![\w.$}/])/(work|home)/"
UNTRACKED_WORK = r"\b(TODO|FIXME)\b(?!\(#\d+\))"
SLEEPS = r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|\b(time\.)?sleep\s*\("
# A sentence of a comment has its subject first (CONTRIBUTING, Prose).
RIDDLE = r"(?:(?://+|/\*+|\n \*) *|[.!?:]\"? )(Of|Whom|Whose)\b"
RIDDLE_IN_TEXT = r"(?m)(?:^(?:[*-] |\d+\. )?|[.!?:] |\| )(Of|Whom|Whose)\b"
NO_WORDS_CHECK = [r"tests/tidy/"]  # these files and their tests spell out what they forbid

STANDARD_C = set("""assert complex ctype dirent dlfcn errno fcntl fenv float immintrin inttypes limits locale math netdb
grp poll pthread pwd sched setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string
strings syslog termios tgmath threads time uchar unistd wchar wctype arm_neon cpuid execinfo malloc xlocale xmmintrin""".split())
