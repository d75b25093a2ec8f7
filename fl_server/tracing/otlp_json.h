// Spans as a collector of OpenTelemetry takes them: an ExportTraceServiceRequest as JSON. Source: OTLP 1.3, "JSON
// Protobuf Encoding" (https://opentelemetry.io/docs/specs/otlp/): ids are hexadecimal, enumerations numbers, 64-bit
// numbers strings, members lowerCamelCase.
#pragma once

#include <span>
#include <string>

#include "fl_server/tracing/span.h"

namespace coterie {

// The process that made the spans.
struct TracedService {
  std::string version;
  std::string node;
};

// Texts that are no UTF-8 (a reason may quote what a device sent) are replaced, not thrown over.
std::string otlp_json(std::span<const Span> spans, const TracedService& service);

}  // namespace coterie
