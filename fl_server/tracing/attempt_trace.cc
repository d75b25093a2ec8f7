#include "fl_server/tracing/attempt_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json/trace_event_writer.h"

namespace coterie {
namespace {

constexpr uint32_t kPhases = 1, kStores = 100, kDevices = 10'000;  // the first thread of each kind

std::string member(std::string_view name, const std::string& value) { return "\"" + std::string(name) + "\":" + value; }

// What is no UTF-8 (a reason may quote what a device sent) is replaced.
std::string text(const std::string& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_of(const std::variant<std::string, int64_t, double>& value) {
  if (const auto* words = std::get_if<std::string>(&value)) return text(*words);
  if (const auto* count = std::get_if<int64_t>(&value)) return std::to_string(*count);
  return text(std::to_string(std::get<double>(value)));  // as a text: it may be no number
}

std::string arguments_of(const std::vector<Attribute>& attributes, const std::optional<std::string>& error = {}) {
  std::string all;
  for (const auto& [name, value] : attributes) all += (all.empty() ? "" : ",") + member(name, text_of(value));
  if (error) all += (all.empty() ? "" : ",") + member("error", text(*error));
  return all;
}

class AttemptWriter {
 public:
  AttemptWriter(TraceEventWriter& events, uint32_t process, Micros origin)
      : events_(events), process_(process), origin_(origin) {}

  void write(const AttemptTrace& attempt) {
    events_.name_process(process_, "round " + std::to_string(attempt.number) + ", attempt " +
                                       std::to_string(attempt.key.attempt.value()));
    write_phases(attempt);
    write_calls(attempt);
    end_ = attempt.spans.empty() ? Micros(0) : attempt.spans.front().end;
    for (size_t i = 0; i < attempt.devices.size(); ++i) write_device(i, attempt);
  }

 private:
  int64_t at(Micros time) const { return (time - origin_).count() * 1000; }

  void write_phases(const AttemptTrace& attempt) {
    const TraceTrack track{process_, kPhases};
    events_.name_thread(track, "phases");
    for (const Span& span : attempt.spans) {
      events_.slice(track, span.name, "phase", at(span.begin), at(span.end), arguments_of(span.attributes, span.error));
      for (const Span::Moment& moment : span.moments) {
        events_.moment(track, moment.name, at(moment.time), arguments_of(moment.attributes));
      }
    }
  }

  // Slices of a thread may not cross each other: a call goes to the first thread that is free by then.
  void write_calls(const AttemptTrace& attempt) {
    std::vector<StoreCall> calls = attempt.calls;
    std::ranges::stable_sort(calls, {}, &StoreCall::began);
    std::vector<Micros> free_at;
    for (const StoreCall& call : calls) {
      const auto free = std::ranges::find_if(free_at, [&](Micros time) { return time <= call.began; });
      const auto lane = static_cast<uint32_t>(free - free_at.begin());
      const TraceTrack track{process_, kStores + lane};
      if (free == free_at.end()) {
        free_at.emplace_back();
        events_.name_thread(track, lane == 0 ? "store" : "store, at the same time " + std::to_string(lane));
      }
      free_at[lane] = call.began + call.took;
      events_.slice(track, call.call, "store", at(call.began), at(call.began + call.took), "");
    }
    if (attempt.calls_left_out > 0) {
      events_.moment({process_, kPhases}, "store calls that are not shown", 0,
                     member("calls", std::to_string(attempt.calls_left_out)));
    }
  }

  void write_device(size_t index, const AttemptTrace& attempt) {
    constexpr std::array<const char*, AttemptTrace::kStepsOfDevice> kUntilNext = {"downloads and trains", "uploads",
                                                                                  "becomes durable", ""};
    const AttemptTrace::Device& device = attempt.devices[index];
    const TraceTrack track{process_, kDevices + static_cast<uint32_t>(index)};
    events_.name_thread(track, "device " + std::to_string(index + 1) + " of " + std::to_string(attempt.devices_drawn));
    for (size_t step = 0; step + 1 < device.at.size(); ++step) {
      if (!device.at[step]) return;
      const Micros begin = since_1970(*device.at[step]);
      const bool went_on = device.at[step + 1].has_value();
      const Micros end = went_on ? since_1970(*device.at[step + 1]) : end_;
      const std::string name = went_on ? kUntilNext[step] : std::string(kUntilNext[step]) + ", and does not end";
      events_.slice(track, name, "device", at(begin), at(std::max(begin, end)), "");
      if (!went_on) return;
    }
  }

  TraceEventWriter& events_;
  const uint32_t process_;
  const Micros origin_;
  Micros end_{0};
};

Micros origin_of(std::span<const AttemptTrace> attempts) {
  Micros first = Micros::max();
  for (const AttemptTrace& attempt : attempts) {
    for (const Span& span : attempt.spans) first = std::min(first, span.begin);
    for (const StoreCall& call : attempt.calls) first = std::min(first, call.began);
    for (const AttemptTrace::Device& device : attempt.devices) {
      for (const auto& time : device.at) first = std::min(first, time ? since_1970(*time) : first);
    }
    for (const Span& span : attempt.spans) {  // a wall clock that was set back in between
      for (const Span::Moment& moment : span.moments) first = std::min(first, moment.time);
    }
  }
  return first == Micros::max() ? Micros(0) : first;
}

}  // namespace

std::string trace_file(std::span<const AttemptTrace> attempts) {
  const Micros origin = origin_of(attempts);
  TraceEventWriter events;
  for (size_t i = 0; i < attempts.size(); ++i) {
    AttemptWriter(events, static_cast<uint32_t>(i + 1), origin).write(attempts[i]);
  }
  return std::move(events).finish();
}

}  // namespace coterie
