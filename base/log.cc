#include "base/log.h"

#include <atomic>
#include <charconv>
#include <cmath>

namespace coterie {
namespace {

std::atomic<LogSink> g_sink{nullptr};

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
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
  if (LogSink sink = g_sink.load()) sink(level, event, std::span(fields.begin(), fields.size()));
}

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
