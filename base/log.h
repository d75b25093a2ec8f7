// Log events: a fixed name and typed fields, no format strings, so that nothing private slips in by accident.
//
//   log(LogLevel::info, "round_opened", {{"job", job.value()}, {"round", round.value()}});
//
// Where events go is the process's business: the server installs a JSON-lines sink, the SDK a host callback. Without a
// sink nothing is written. Never put tensors, tokens, keys or full device ids into a field (DeviceId::short_hash is the
// form for logs). Thread-safe as far as the sink is.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace coterie {

enum class LogLevel : uint8_t { debug, info, warning, error };
std::string_view to_string(LogLevel level);

struct LogField {
  using Value = std::variant<std::string_view, int64_t, uint64_t, double, bool>;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  LogField(std::string_view k, bool v) : key(k), value(v) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
  template <std::signed_integral T>
  LogField(std::string_view k, T v) : key(k), value(static_cast<int64_t>(v)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  LogField(std::string_view k, T v) : key(k), value(static_cast<uint64_t>(v)) {}

  std::string_view key;
  Value value;
};

// `event` and the fields live only during the call.
using LogSink = void (*)(LogLevel level, std::string_view event, std::span<const LogField> fields);

void set_log_sink(LogSink sink);
void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

// While one lives, log() on its thread adds the field "trace_id" behind the others. Scopes of one thread nest: the
// innermost counts.
class LogTrace {
 public:
  explicit LogTrace(std::string trace_id);
  ~LogTrace();
  LogTrace(const LogTrace&) = delete;
  LogTrace& operator=(const LogTrace&) = delete;

 private:
  std::string trace_id_;
  const std::string* outer_;
};

// One event as a line of JSON without the newline: {"level":"info","event":"...","key":value,...}.
// Valid JSON whatever the texts are: bytes that are not UTF-8 become U+FFFD.
std::string to_json_line(LogLevel level, std::string_view event, std::span<const LogField> fields);

}  // namespace coterie
