#include "base/json/trace_event_writer.h"

#include <utility>

#include "base/json/json_scanner.h"

namespace coterie {
namespace {

std::string microseconds(int64_t nanoseconds) {
  const std::string rest = std::to_string(1000 + nanoseconds % 1000).substr(1);
  return std::to_string(nanoseconds / 1000) + "." + rest;
}

std::string on(TraceTrack track) {
  return ",\"pid\":" + std::to_string(track.process) + ",\"tid\":" + std::to_string(track.thread);
}

std::string args(const std::string& arguments) {
  return arguments.empty() ? std::string() : ",\"args\":{" + arguments + "}";
}

}  // namespace

void TraceEventWriter::slice(TraceTrack track, std::string_view name, std::string_view category, int64_t begin,
                             int64_t end, const std::string& arguments) {
  next();
  text_ += "{\"name\":";
  append_json_string(text_, name);
  text_ += ",\"cat\":\"" + std::string(category) + "\",\"ph\":\"X\",\"ts\":" + microseconds(begin) +
           ",\"dur\":" + microseconds(end - begin) + on(track) + args(arguments) + "}";
}

void TraceEventWriter::moment(TraceTrack track, std::string_view name, int64_t at, const std::string& arguments) {
  next();
  text_ += "{\"name\":";
  append_json_string(text_, name);
  text_ += ",\"ph\":\"i\",\"s\":\"t\",\"ts\":" + microseconds(at) + on(track) + args(arguments) + "}";
}

void TraceEventWriter::counter(uint32_t process, std::string_view name, int64_t at, const std::string& values) {
  next();
  text_ += "{\"name\":";
  append_json_string(text_, name);
  text_ += ",\"ph\":\"C\",\"ts\":" + microseconds(at) + ",\"pid\":" + std::to_string(process) + args(values) + "}";
}

void TraceEventWriter::name(std::string_view what, TraceTrack track, std::string_view value) {
  next();
  text_ += "{\"name\":\"" + std::string(what) + "\",\"ph\":\"M\"" + on(track) + ",\"args\":{\"name\":";
  append_json_string(text_, value);
  text_ += "}}";
}

void TraceEventWriter::name_process(uint32_t process, std::string_view value) {
  name("process_name", {process, 1}, value);
}

void TraceEventWriter::name_thread(TraceTrack track, std::string_view value) { name("thread_name", track, value); }

std::string TraceEventWriter::finish() && {
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + std::move(text_) + "\n]}\n";
}

}  // namespace coterie
