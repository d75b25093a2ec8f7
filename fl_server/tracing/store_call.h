// StoreCall: a call of a store for an attempt at a round, and what it is called in a trace of OpenTelemetry. Pure.
//
// Sources: OpenTelemetry's semantic conventions 1.33, "Database client spans" (stable: db.system.name,
// db.operation.name) and "Object stores / S3" (rpc.*, aws.s3.*).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fl_server/tracing/span.h"

namespace coterie {

struct StoreCall {
  std::string_view call;  // a literal (RoundProbe)
  Micros began, took;     // `began` since 1970
};

// The stores that a server calls.
struct TracedStores {
  std::string database = "sqlite";         // as OpenTelemetry names it: "sqlite", "postgresql"
  std::optional<std::string> bucket = {};  // of S3, where blobs lie; none: they lie in a directory
};

// Kind, attributes, begin and end of the call's span; its ids and its parent are the caller's.
Span span_of(const StoreCall& call, const TracedStores& stores);

}  // namespace coterie
