// TraceContext: the trace that a request belongs to (W3C Trace Context, https://www.w3.org/TR/trace-context/). A caller
// may send a `traceparent` header; without a good one the request begins a trace of its own. The answer has it with the
// id of our own span; problem documents and log lines that the request causes have its trace id. Pure but for
// make_trace.
//
// Strict: of version 00 exactly 55 characters, lower-case hexadecimal, ids that are not all zero; of a later version
// the same fields, and behind them nothing or what begins with '-' (section 3.2.4); never version ff. What is not so is
// no trace, as if there were no header. `tracestate` is not read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fl_server/net/http_types.h"

namespace coterie {

struct TraceContext {
  std::array<uint8_t, 16> trace{};
  std::array<uint8_t, 8> span{};  // of the sender: the caller's in a request, ours in an answer
  bool sampled = false;           // the caller keeps this trace

  std::string trace_id() const { return to_hex(trace); }
  std::string header() const;  // version 00
  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

std::optional<TraceContext> parse_traceparent(std::string_view text);

// The trace of a request with this head (null: it has none that can be read), with a fresh span: its caller's if it has
// sent one good traceparent, else a fresh one.
TraceContext make_trace(const RequestHead* head);

// Puts the trace into an answer: its header, and `trace_id` into a problem document.
void add_trace(HttpResponse& response, const TraceContext& trace);

}  // namespace coterie
