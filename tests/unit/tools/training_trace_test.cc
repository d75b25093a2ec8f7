#include "tools/model/training_trace.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/profiler.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using nlohmann::json;

constexpr uint32_t kSteps = 3;

// A clock that goes on by 1234.567 microseconds and a little more each time.
double seconds_now() {
  static double now = 100, by = 1234.567e-6;
  by *= 1.001;
  return now += by;
}

struct Traced {
  Model model;
  TrainingProfile profile;
  TrainingTrace trace;
  json events;
};

Traced traced_training() {
  ModelBuilder build("net \x1b\"", {8, 8, 1}, 1);
  TensorId x = build.conv2d(build.input(), {.filters = 4, .kernel = 3, .pad = 1});
  x = build.max_pool2d(build.relu(x), {});
  x = build.op(OpKind::tanh, {build.flatten(x)}, {}, "gate\"\\\n");
  Result<Bytes> file = build.finish(build.dense(x, 10));
  EXPECT_OK(file);
  const Result<Model> model = Model::load(std::move(*file));
  EXPECT_OK(model);
  const TrainOptions options{.batch_size = 4};
  Traced traced{.model = *model, .profile = {}, .trace = {}, .events = {}};
  Result<TrainingProfile> profile = profile_training(*model, options, kSteps, &seconds_now, &traced.trace);
  EXPECT_OK(profile);
  traced.profile = std::move(*profile);
  const json document = json::parse(trace_json(*model, fixed_bytes(traced.profile.memory), traced.trace));
  traced.events = document.at("traceEvents");
  return traced;
}

int64_t nanoseconds(const json& microseconds) { return std::llround(microseconds.get<double>() * 1e3); }

std::vector<json> of_category(const json& events, const std::vector<std::string>& categories) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event["ph"] != "X") continue;
    for (const std::string& category : categories) {
      if (event["cat"] == category) found.push_back(event);
    }
  }
  return found;
}

TEST(TrainingTrace, DurationsAddUpToTheStep) {
  const Traced traced = traced_training();
  const std::vector<json> steps = of_category(traced.events, {"step"}), phases = of_category(traced.events, {"phase"}),
                          ops = of_category(traced.events, {"forward", "loss", "backward", "optimizer"});
  ASSERT_EQ(steps.size(), kSteps);
  EXPECT_EQ(ops.size(), traced.trace.steps.size() * kSteps);
  size_t op = 0, phase = 0;
  double all = 0;
  for (const json& step : steps) {
    const int64_t begin = nanoseconds(step["ts"]), end = begin + nanoseconds(step["dur"]);
    int64_t of_ops = 0, of_phases = 0, last = begin;
    for (; phase < phases.size() && nanoseconds(phases[phase]["ts"]) < end; ++phase) {
      of_phases += nanoseconds(phases[phase]["dur"]);
    }
    for (; op < ops.size() && nanoseconds(ops[op]["ts"]) < end; ++op) {
      EXPECT_EQ(nanoseconds(ops[op]["ts"]), last) << "one begins where the one before ended";
      of_ops += nanoseconds(ops[op]["dur"]);
      last = nanoseconds(ops[op]["ts"]) + nanoseconds(ops[op]["dur"]);
    }
    EXPECT_EQ(of_ops, end - begin);
    EXPECT_EQ(of_phases, end - begin);
    EXPECT_EQ(last, end);
    all += static_cast<double>(end - begin) * 1e-9;
  }
  EXPECT_EQ(op, ops.size());
  EXPECT_NEAR(all / kSteps, traced.profile.step_seconds, traced.profile.step_seconds * 0.05) << "a median of three";
}

TEST(TrainingTrace, NamesOpsPhasesAndWhatTheyDo) {
  const Traced traced = traced_training();
  std::map<std::string, int> categories;
  std::map<std::string, std::string> step_of;
  for (const json& event : traced.events) {
    if (event["ph"] != "X" || event["cat"] == "step" || event["cat"] == "phase") continue;
    ++categories[event["cat"]];
    step_of[event["name"].get<std::string>() + "/" + event["cat"].get<std::string>()] = event["args"]["step"];
    EXPECT_GT(event["args"]["operand_bytes"], 0);
    EXPECT_EQ(event["pid"], 1);
    EXPECT_EQ(event["tid"], 1);
  }
  EXPECT_EQ(categories.size(), 4u);
  EXPECT_EQ(categories["optimizer"], 4 * static_cast<int>(kSteps)) << "two weights, two biases";
  EXPECT_EQ(categories["loss"], static_cast<int>(kSteps));
  EXPECT_EQ(step_of["conv1/forward"], "conv2d.forward");
  EXPECT_TRUE(step_of.contains("gate\"\\\n/backward")) << "names come through as they are";
  EXPECT_EQ(traced.events[0]["args"]["name"], "net \x1b\"");
}

// Each buffer counts from the step that writes it to the last that reads it, and what lies over another once.
TEST(TrainingTrace, MemoryIsWithinThePlan) {
  const Traced traced = traced_training();
  const std::vector<uint64_t> live = live_planned_bytes(traced.trace.steps);
  uint64_t most = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    uint64_t named = 0;
    for (const OperandInfo& operand : traced.trace.steps[i].operands) {
      if (operand.place == BufferPlace::planned) named = std::max(named, operand.bytes);
    }
    EXPECT_GE(live[i], named) << traced.trace.steps[i].name;
    most = std::max(most, live[i]);
  }
  EXPECT_LE(most, traced.profile.memory.planned_bytes);
  EXPECT_GE(most * 10, traced.profile.memory.planned_lower_bound * 9) << "but for what is rounded up";
  size_t counters = 0;
  for (const json& event : traced.events) {
    if (event["ph"] != "C") continue;
    ++counters;
    EXPECT_LE(event["args"]["activations and gradients"], traced.profile.memory.planned_bytes);
    EXPECT_GE(event["args"]["parameters and optimizer"], traced.profile.memory.parameter_bytes);
  }
  EXPECT_EQ(counters, (traced.trace.steps.size() + 1) * kSteps);
}

StepInfo step_with(std::vector<OperandInfo> operands) { return {.name = "step", .operands = std::move(operands)}; }

OperandInfo planned(uint32_t tensor, uint64_t offset, uint64_t bytes, bool is_made) {
  OperandInfo operand;
  operand.content = {.role = BufferRole::value, .tensor = tensor};
  operand.offset = offset;
  operand.bytes = bytes;
  operand.is_made = is_made;
  return operand;
}

TEST(TrainingTrace, LivesByHand) {
  // The caller fills 1; 2 is written over it; 3 beside; 4 takes the place of 3 when nobody needs that any more.
  const std::vector<StepInfo> steps = {step_with({planned(1, 0, 64, false), planned(2, 0, 64, true)}),
                                       step_with({planned(2, 0, 64, false), planned(3, 64, 32, true)}),
                                       step_with({planned(3, 64, 32, false)}), step_with({planned(4, 64, 16, true)}),
                                       step_with({planned(4, 64, 16, false), planned(2, 0, 64, false)})};
  EXPECT_EQ(live_planned_bytes(steps), (std::vector<uint64_t>{64, 96, 96, 80, 80}));
}

TEST(TrainingTrace, MemoryOfTheProcessIsACurve) {
  Traced traced = traced_training();
  traced.trace.resident = {{traced.trace.times[0].begin, 4711}, {traced.trace.times[4].begin, 4712}};
  std::vector<uint64_t> curve;
  const json document = json::parse(trace_json(traced.model, 0, traced.trace));
  for (const json& event : document.at("traceEvents")) {
    if (event["name"] == "memory of the process") curve.push_back(event["args"]["resident"]);
  }
  EXPECT_EQ(curve, (std::vector<uint64_t>{4711, 4712}));
}

double quick_seconds_now() {
  static double now = 0;
  return now += 0.05e-3;
}

uint64_t next_byte_count() {
  static uint64_t bytes = 0;
  return ++bytes;
}

// A quick step would otherwise spend more time on its memory than on itself.
TEST(TrainingTrace, MemoryIsReadAtIntervals) {
  ModelBuilder build("line", {4}, 1);
  const Result<Model> model = Model::load(*build.finish(build.dense(build.input(), 2)));
  ASSERT_OK(model);
  TrainingTrace trace;
  ASSERT_OK(profile_training(*model, {.batch_size = 1}, 200, &quick_seconds_now, &trace, &next_byte_count));
  ASSERT_GT(trace.resident.size(), 2u);
  EXPECT_LT(trace.resident.size(), 100u);
  EXPECT_EQ(trace.resident.back().resident_bytes, trace.resident.size()) << "it is read where it is kept alone";
  for (size_t i = 1; i < trace.resident.size(); ++i)
    EXPECT_GE(trace.resident[i].when - trace.resident[i - 1].when, TrainingTrace::kMemoryIntervalS);
}

TEST(TrainingTrace, EachThreadHasATrack) {
  Traced traced = traced_training();
  const StepTime& step = traced.trace.times[4];
  traced.trace.parts = {{step.step, 0, step.begin, step.end}, {step.step, 2, step.begin, step.end}};
  const json events =
      json::parse(trace_json(traced.model, fixed_bytes(traced.profile.memory), traced.trace)).at("traceEvents");
  const std::vector<json> parts = of_category(events, {"part"});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0]["tid"], 1) << "inside of its step, on the thread that trains";
  EXPECT_NE(parts[1]["tid"], 1);
  EXPECT_EQ(parts[0]["dur"], parts[1]["dur"]);
  bool is_named = false;
  for (const json& event : events) {
    if (event["ph"] == "M" && event["tid"] == parts[1]["tid"]) is_named = event["args"]["name"] == "worker 2";
  }
  EXPECT_TRUE(is_named);
}

TEST(TrainingTrace, TheCommandWritesIt) {
  const TemporaryDirectory folder;
  const std::string model = folder.path() + "/net.cotf", trace = folder.path() + "/trace.json";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const CommandOutcome made = run_command({"model", "profile", model, "--steps", "2", "--trace", trace});
  ASSERT_EQ(made.code, ExitCode::ok) << made.err;
  const Result<Bytes> file = os::read_file(trace, 1 << 24);
  ASSERT_OK(file);
  const json events = json::parse(as_text(*file))["traceEvents"];
  EXPECT_EQ(of_category(events, {"step"}).size(), 2u);
  size_t samples = 0;
  for (const json& event : events) samples += event["name"] == "memory of the process" ? 1 : 0;
  EXPECT_GE(samples, 1u) << "in front of the first step, and of the next if that took long";
  const CommandOutcome told = run_command({"model", "profile", model, "--steps", "2", "--trace", trace, "--json"});
  EXPECT_EQ(json::parse(told.out)["traced_steps"], 2);
  EXPECT_NE(run_command({"model", "profile", model, "--steps", "2", "--trace", "/nowhere/trace.json"}).code,
            ExitCode::ok);
}

}  // namespace
}  // namespace coterie::test
