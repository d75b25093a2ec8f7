// A request of the Open Inference Protocol v2: its bytes, with the extension for binary tensors, to rows of values.
// Pure; fuzzed.
//
//   {"id": "7", "inputs": [{"name": "input", "shape": [1, 8, 8, 1], "datatype": "FP32", "data": [0, 0.5, ...]}]}
//
// `data` is flat or nested as `shape` says. With the header Inference-Header-Content-Length: n the first n bytes are
// the JSON, and behind them lie, in the order of the inputs, the little-endian values of each input that has
// "parameters": {"binary_data_size": bytes} instead of `data`. Strings (BYTES) have their lengths before them there; in
// JSON they are strings, or with "parameters": {"content_type": "base64"} (as MLServer names it) RFC 4648's base64 of
// any bytes.
//
// "outputs": [{"name": "scores", "parameters": {"binary_data": true}}] asks for some outputs, each once. Where one says
// nothing of binary_data, the request's binary_data_output does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/serving/infer_rows.h"
#include "fl_server/serving/model_interface.h"

namespace coterie {

inline constexpr size_t kInferIdBytesMax = 256;

struct InferRequest {
  std::optional<std::string> id;       // comes back with the answer
  uint64_t rows = 0;                   // at least 1
  std::vector<TensorValues> inputs;    // in the order of the interface
  std::vector<bool> wanted;            // of each output; empty: all
  std::vector<bool> as_binary;         // likewise, as binary data; empty: none
  std::optional<uint64_t> timeout_us;  // parameter "timeout", as Triton names it: how long it may wait
};

// `json_bytes`: the value of Inference-Header-Content-Length. Errors say which tensor, what is expected and what was
// seen: malformed (no JSON), invalid_argument (not what this model takes), too_large (a named limit). Nothing is
// allocated for values before the text or the bytes are known to be long enough for them.
Result<InferRequest> parse_infer_request(ByteView body, std::optional<uint64_t> json_bytes,
                                         const ClientInterface& model, const InferLimits& limits);

}  // namespace coterie
