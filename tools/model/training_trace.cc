#include "tools/model/training_trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/json/json_scanner.h"
#include "base/json/trace_event_writer.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/step_tracer.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {
namespace {

// One use of planned memory: from the step that writes it to the last that names it.
struct Life {
  uint64_t offset, bytes;
  size_t first, last;
};

std::vector<Life> lives_of(const std::vector<StepInfo>& steps) {
  std::vector<Life> lives;
  std::map<std::tuple<uint64_t, BufferRole, uint32_t>, size_t> open;  // the newest at that place, of that content
  for (size_t s = 0; s < steps.size(); ++s) {
    for (const OperandInfo& operand : steps[s].operands) {
      if (operand.place != BufferPlace::planned) continue;
      const auto key = std::tuple(operand.offset, operand.content.role, operand.content.tensor);
      const auto found = open.find(key);
      const bool is_new = operand.is_made && (found == open.end() || lives[found->second].last != s);
      if (!is_new && found != open.end()) {
        Life& life = lives[found->second];
        life.last = s;
        life.bytes = std::max(life.bytes, operand.bytes);
        continue;
      }
      open[key] = lives.size();
      lives.push_back({operand.offset, operand.bytes, operand.is_made ? s : 0, s});  // else the caller filled it
    }
  }
  return lives;
}

constexpr TraceTrack kTraining;  // the thread that trains
constexpr TraceTrack kData{kTraining.process, 2};
constexpr uint32_t kWorkers = 100;  // thread N of the pool is kWorkers + N; thread 0 trains

std::string_view category_of(const StepInfo& step) {
  if (step.origin == kLossOrigin) return "loss";
  if (step.origin == kUpdateOrigin) return "optimizer";
  return to_string(step.phase);
}

// The op; of what belongs to none its category.
std::string name_of(const StepInfo& step, const ModelGraph& graph) {
  if (step.origin < graph.ops.size()) return graph.ops[step.origin].name;
  return std::string(category_of(step));
}

std::string arguments_of(const StepInfo& step) {
  std::string text = "\"step\":";
  append_json_string(text, step.name);
  if (!step.settings.empty()) {
    text += ",\"settings\":";
    append_json_string(text, step.settings);
  }
  return text + ",\"operand_bytes\":" + std::to_string(step.bytes());
}

std::vector<StageSlice> outer_first(std::span<const StageSlice> data) {
  std::vector<StageSlice> slices(data.begin(), data.end());
  std::ranges::stable_sort(slices, {}, [](const StageSlice& slice) { return std::pair(slice.begin, -slice.end); });
  return slices;
}

double begin_of(const TrainingTrace& trace, std::span<const StageSlice> data) {
  double begin = trace.times.empty() ? std::numeric_limits<double>::infinity() : trace.times.front().begin;
  for (const MemorySample& sample : trace.resident) begin = std::min(begin, sample.when);
  for (const StageSlice& slice : data) begin = std::min(begin, slice.begin);
  return std::isfinite(begin) ? begin : 0;
}

}  // namespace

std::vector<uint64_t> live_planned_bytes(const std::vector<StepInfo>& steps) {
  const std::vector<Life> lives = lives_of(steps);
  std::vector<uint64_t> live(steps.size());
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (size_t s = 0; s < steps.size(); ++s) {
    ranges.clear();
    for (const Life& life : lives) {
      if (life.first <= s && s <= life.last) ranges.emplace_back(life.offset, life.offset + life.bytes);
    }
    std::ranges::sort(ranges);  // a result may lie over its operand: bytes count once
    uint64_t end = 0;
    for (const auto& [from, to] : ranges) {
      if (to <= end) continue;
      live[s] += to - std::max(from, end);
      end = to;
    }
  }
  return live;
}

uint64_t fixed_bytes(const TrainingMemory& memory) {
  return memory.parameter_bytes + memory.optimizer_bytes + memory.gradient_bytes + memory.prepared_bytes;
}

std::string trace_json(const Model& model, uint64_t fixed_bytes, const TrainingTrace& trace,
                       std::span<const StageSlice> data) {
  const std::vector<uint64_t> live = live_planned_bytes(trace.steps);
  TraceEventWriter events;
  events.name_process(kTraining.process, model.graph().name);
  events.name_thread(kTraining, "training");
  const double origin = begin_of(trace, data);
  const auto at = [origin](double seconds) { return std::llround((seconds - origin) * 1e9); };
  const auto memory = [&](int64_t when, uint64_t bytes) {
    events.counter(kTraining.process, "memory", when,
                   "\"activations and gradients\":" + std::to_string(bytes) +
                       ",\"parameters and optimizer\":" + std::to_string(fixed_bytes));
  };
  for (size_t first = 0; first < trace.times.size();) {
    const StepTime& begin = trace.times[first];
    size_t end = first;
    while (end < trace.times.size() && trace.times[end].training_step == begin.training_step) ++end;
    events.slice(kTraining, "step " + std::to_string(begin.training_step), "step", at(begin.begin),
                 at(trace.times[end - 1].end), "");
    for (size_t i = first; i < end;) {
      const Phase phase = trace.steps[trace.times[i].step].phase;
      size_t behind = i;
      while (behind < end && trace.steps[trace.times[behind].step].phase == phase) ++behind;
      events.slice(kTraining, to_string(phase), "phase", at(trace.times[i].begin), at(trace.times[behind - 1].end), "");
      for (; i < behind; ++i) {
        const StepTime& time = trace.times[i];
        const StepInfo& step = trace.steps[time.step];
        events.slice(kTraining, name_of(step, model.graph()), category_of(step), at(time.begin), at(time.end),
                     arguments_of(step));
        memory(at(time.begin), live[time.step]);
      }
    }
    memory(at(trace.times[end - 1].end), 0);
    first = end;
  }
  for (const MemorySample& sample : trace.resident) {
    events.counter(kTraining.process, "memory of the process", at(sample.when),
                   "\"resident\":" + std::to_string(sample.resident_bytes));
  }
  std::set<uint32_t> workers;
  for (const PartTime& part : trace.parts) {
    const TraceTrack track = part.thread == 0 ? kTraining : TraceTrack{kTraining.process, kWorkers + part.thread};
    if (part.thread > 0 && workers.insert(part.thread).second) {
      events.name_thread(track, "worker " + std::to_string(part.thread));
    }
    events.slice(track, name_of(trace.steps[part.step], model.graph()), "part", at(part.begin), at(part.end), "");
  }
  if (!data.empty()) events.name_thread(kData, "data");
  for (const StageSlice& slice : outer_first(data)) {
    if (slice.stage == DataStage::step) continue;
    events.slice(kData, to_string(slice.stage), "data", at(slice.begin), at(slice.end), "");
  }
  return std::move(events).finish();
}

}  // namespace coterie
