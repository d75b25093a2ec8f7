#include "base/log.h"

#include <atomic>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace coterie {
namespace {

std::atomic<LogSink> g_sink{nullptr};
thread_local const std::string* t_trace_id = nullptr;

// The length of the UTF-8 sequence that `text` begins with, 0 if it begins with none (RFC 3629: no overlong form, no
// surrogate, nothing beyond U+10FFFF).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  size_t length = 0;
  if (byte(0) < 0x80) length = 1;
  else if (byte(0) >> 5 == 0x06) length = 2;
  else if (byte(0) >> 4 == 0x0e) length = 3;
  else if (byte(0) >> 3 == 0x1e) length = 4;
  if (length < 2) return length;
  uint32_t point = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0x02) return 0;
    point = point << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  return point >= kFirst[length] && point <= 0x10ffff && !surrogate ? length : 0;
}

// Text may come from a hostile peer: whatever it is, the line stays one line of valid JSON.
void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const size_t length = utf8_length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text.front();
    } else if (byte < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

template <typename T>
void append_number(std::string& out, T value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, error == std::errc() ? end : buffer);
}

struct AppendValue {
  std::string& out;
  void operator()(std::string_view text) const { append_json_string(out, text); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(double value) const {
    // JSON has neither NaN nor infinities.
    if (std::isfinite(value)) append_number(out, value);
    else out += "null";
  }
  void operator()(int64_t value) const { append_number(out, value); }
  void operator()(uint64_t value) const { append_number(out, value); }
};

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "error";
}

void set_log_sink(LogSink sink) { g_sink.store(sink); }

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  const LogSink sink = g_sink.load();
  if (sink == nullptr) return;
  if (t_trace_id == nullptr) return sink(level, event, std::span(fields.begin(), fields.size()));
  std::vector<LogField> traced(fields);
  traced.emplace_back("trace_id", *t_trace_id);
  sink(level, event, traced);
}

LogTrace::LogTrace(std::string trace_id)
    : trace_id_(std::move(trace_id)), outer_(std::exchange(t_trace_id, &trace_id_)) {}
LogTrace::~LogTrace() { t_trace_id = outer_; }

std::string to_json_line(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  std::string line = "{\"level\":\"";
  line += to_string(level);
  line += "\",\"event\":";
  append_json_string(line, event);
  for (const LogField& field : fields) {
    line += ',';
    append_json_string(line, field.key);
    line += ':';
    std::visit(AppendValue{line}, field.value);
  }
  line += '}';
  return line;
}

}  // namespace coterie
