// Span: something that took its time, as OpenTelemetry has it (https://opentelemetry.io/docs/specs/otel/trace/api/).
// Never names a device.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"

namespace coterie {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;
using Micros = std::chrono::microseconds;  // a time: since 1970
inline Micros since_1970(WallTime time) { return Micros(unix_ms(time) * 1000); }

using Attribute = std::pair<std::string, std::variant<std::string, int64_t, double>>;

enum class SpanKind : uint8_t {
  internal = 1,  // of this process alone
  client = 3,    // it asked another one, or a library that stands for one
};

struct Span {
  // Something that happened at one moment of it.
  struct Moment {
    Micros time;
    std::string name;
    std::vector<Attribute> attributes;
  };

  TraceId trace{};
  SpanId id{};
  std::optional<SpanId> parent = {};  // of the same trace
  std::string name;
  SpanKind kind = SpanKind::internal;
  Micros begin, end;
  std::vector<Attribute> attributes = {};
  std::vector<Moment> moments = {};
  std::optional<std::string> error = {};  // it failed, for this reason
};

}  // namespace coterie
