// A timeline as tracing tools read it (ui.perfetto.dev, chrome://tracing): Trace Event Format, JSON. Pure.
//
// Slices nest on a thread ("ph": "X"), moments have no length ("i"), counters are curves ("C"); processes and threads
// have names ("M"). Times are nanoseconds from 0 on; in the file they are microseconds, in whole nanoseconds, so that
// durations add up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coterie {

// Where an event stands: numbers of the writer's own, no operating system's.
struct TraceTrack {
  uint32_t process = 1, thread = 1;
};

class TraceEventWriter {
 public:
  // `arguments`: members of a JSON object, "\"step\":1"; empty: none. Texts are UTF-8.
  void slice(TraceTrack track, std::string_view name, std::string_view category, int64_t begin, int64_t end,
             const std::string& arguments);
  void moment(TraceTrack track, std::string_view name, int64_t at, const std::string& arguments);
  // `values`: a member a curve.
  void counter(uint32_t process, std::string_view name, int64_t at, const std::string& values);
  void name_process(uint32_t process, std::string_view name);
  void name_thread(TraceTrack track, std::string_view name);
  std::string finish() &&;

 private:
  void next() { text_ += text_.empty() ? "\n" : ",\n"; }
  void name(std::string_view what, TraceTrack track, std::string_view value);

  std::string text_;
};

}  // namespace coterie
