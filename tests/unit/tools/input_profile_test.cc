#include "tools/model/input_profile.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/step_tracer.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"
#include "tools/cli/model_profile_data.h"
#include "tools/model/input_report.h"
#include "tools/model/training_trace.h"

namespace coterie::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Layers enough that a step asks the clock for the time of many ops.
Model deep_model() {
  ModelBuilder build("deep", {4, 4, 1}, 1);
  TensorId x = build.flatten(build.input());
  for (int i = 0; i < 12; ++i) x = build.op(OpKind::tanh, {build.dense(x, 6)});
  Result<Bytes> file = build.finish(build.dense(x, 3));
  EXPECT_OK(file);
  Result<Model> model = Model::load(std::move(*file));
  EXPECT_OK(model);
  return std::move(*model);
}

// What advice_text says, without its breaks of lines.
std::string advice_of(const InputReport& report) {
  std::string text = advice_text(report);
  for (size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) text.replace(at, 3, " ");
  return text;
}

// Each time it is asked it goes on by a microsecond, and an example takes as long as it is said to.
class InputProfile : public testing::Test, public ExampleSource {
 protected:
  static constexpr uint64_t kExamples = 11, kExampleBytes = 64;
  static constexpr uint32_t kBatch = 2, kSteps = 8;

  uint64_t size() const override { return kExamples; }
  Status read(uint64_t index, const Example& to) override {
    now_ += example_seconds_;
    for (float& value : to.features()) value = static_cast<float>(index) / 16;
    to.labels()[0] = static_cast<int32_t>(index % 3);
    return {};
  }

  InputReport profiled(const TrainOptions& options) {
    const Result<ProfiledInput> profile =
        profile_input(model_, options, *this, kExampleBytes, kSteps, steps_, &tracer_);
    EXPECT_OK(profile);
    fixed_bytes_ = profile->fixed_bytes;
    EXPECT_EQ(profile->batch_size, options.batch_size);
    return report_input(loading_, kExamples, steps_, kSteps, profile->batch_size, profile->steps_an_epoch);
  }

  const Model model_ = deep_model();
  double now_ = 50;
  double example_seconds_ = 0;
  StageLog loading_{[this] { return now_ += 1e-6; }}, steps_{[this] { return now_ += 1e-6; }};
  TrainingTrace trace_;
  StepTracer tracer_{trace_, [this] { return now_ += 1e-6; }, nullptr};
  uint64_t fixed_bytes_ = 0;
};

TEST_F(InputProfile, ASlowSourceStarvesTheStep) {
  example_seconds_ = 1;
  const InputReport report = profiled({.batch_size = kBatch});
  EXPECT_EQ(report.supply, DataSupply::starving);
  EXPECT_EQ(report.slowest_of_batch, DataStage::copy);
  EXPECT_NEAR(report.wait_seconds, kBatch, 0.01);
  EXPECT_THAT(advice_of(report), AllOf(HasSubstr("data are the bottleneck"), HasSubstr("in copy")));
}

TEST_F(InputProfile, AFastSourceDoesNot) {
  const InputReport report = profiled({.batch_size = kBatch});
  EXPECT_EQ(report.supply, DataSupply::sufficient) << report.wait_share;
  EXPECT_THAT(advice_of(report),
              AllOf(HasSubstr("computing is the bottleneck"), Not(HasSubstr("loading")), Not(HasSubstr("slow"))));
}

TEST_F(InputProfile, CountsWhatPassedThroughEachStage) {
  profiled({.batch_size = kBatch});
  EXPECT_EQ(steps_.total(DataStage::copy).calls, kBatch * kSteps) << "the first step is not measured";
  EXPECT_EQ(steps_.total(DataStage::copy).bytes, kBatch * kSteps * kExampleBytes);
  EXPECT_EQ(steps_.total(DataStage::batch).calls, kSteps);
  EXPECT_EQ(steps_.total(DataStage::step).calls, kSteps);
  EXPECT_EQ(steps_.total(DataStage::transform).calls, 0u) << "nothing is augmented";
}

TEST_F(InputProfile, AnAugmentationIsAStageOfItsOwn) {
  example_seconds_ = 1e-3;
  const InputReport report = profiled({.batch_size = kBatch, .augment = "crop=1,flip"});
  EXPECT_EQ(steps_.total(DataStage::transform).calls, kBatch * kSteps);
  EXPECT_EQ(report.slowest_of_batch, DataStage::copy) << "the time of the source is not the augmentation's";
}

// A batch that is smaller than the others would be another program.
TEST_F(InputProfile, EveryBatchIsWhole) {
  profiled({.batch_size = 4});
  EXPECT_EQ(trace_.times.size(), trace_.steps.size() * kSteps);
}

TEST_F(InputProfile, InTheTraceTheStepsHaveGapsWhereTheyWait) {
  example_seconds_ = 1e-3;
  profiled({.batch_size = kBatch});
  const json events = json::parse(trace_json(model_, fixed_bytes_, trace_, steps_.slices())).at("traceEvents");
  std::vector<std::pair<int64_t, int64_t>> waits, computings;
  const auto nanoseconds = [](const json& micros) { return std::llround(micros.get<double>() * 1e3); };
  for (const json& event : events) {
    if (event["ph"] != "X") continue;
    const int64_t begin = nanoseconds(event["ts"]), end = begin + nanoseconds(event["dur"]);
    EXPECT_GE(begin, 0);
    if (event["cat"] == "data") EXPECT_NE(event["tid"], 1);
    if (event["name"] == "batch") waits.emplace_back(begin, end);
    if (event["cat"] == "step") computings.emplace_back(begin, end);
  }
  ASSERT_EQ(waits.size(), kSteps);
  ASSERT_EQ(computings.size(), kSteps);
  for (size_t i = 0; i < kSteps; ++i) {
    EXPECT_LT(waits[i].second, computings[i].first);
    if (i > 0) EXPECT_LT(computings[i - 1].second, waits[i].first);
  }
}

class InputAdvice : public testing::Test {
 protected:
  void take(StageLog& log, DataStage stage, double seconds) {
    timed(&log, stage, 1, [&] { return now_ += seconds; });
  }
  InputReport report() const { return report_input(loading_, 10, steps_, 1, 4, 5); }

  double now_ = 0;
  StageLog loading_{[this] { return now_; }}, steps_{[this] { return now_; }};
};

TEST_F(InputAdvice, NamesTheStageThatHoldsAStepUp) {
  take(steps_, DataStage::copy, 1);
  take(steps_, DataStage::transform, 2);
  take(steps_, DataStage::batch, 0);
  take(steps_, DataStage::step, 7);
  EXPECT_EQ(report().supply, DataSupply::slow);
  EXPECT_DOUBLE_EQ(report().wait_share, 0.3);
  EXPECT_THAT(advice_text(report()),
              AllOf(HasSubstr("waits for data 30.0 %"), HasSubstr("20.0 % in transform"), HasSubstr("--augment")));
}

TEST_F(InputAdvice, LoadingThatTakesLongIsNamedBesides) {
  take(steps_, DataStage::step, 1);
  take(loading_, DataStage::read, 1);
  take(loading_, DataStage::parse, 9);
  EXPECT_DOUBLE_EQ(report().loading_epochs, 2);
  EXPECT_THAT(advice_text(report()), AllOf(HasSubstr("computing is the bottleneck"), HasSubstr("as long as 2.0 epochs"),
                                           HasSubstr("90.0 % of it in parse"), HasSubstr("coterie data make")));
}

TEST_F(InputAdvice, HasAtMost80Columns) {
  for (const DataStage stage : {DataStage::copy, DataStage::transform, DataStage::batch}) take(steps_, stage, 3);
  for (size_t i = 0; i < 5; ++i) take(loading_, static_cast<DataStage>(i), 100);
  const std::string text = advice_text(report());
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) EXPECT_LE(text.find('\n', at) - at, 80u) << text;
}

TEST(ProfileData, TheCommandShowsBothPartsAndWritesTheTrace) {
  const TemporaryDirectory folder;
  const std::string model = folder / "net.cotf", trace = folder / "trace.json";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "-o", model}).code, ExitCode::ok);
  const std::vector<std::string> words = {"model", "profile",   model,    "--data",  "digits", "--steps",
                                          "3",     "--augment", "crop=1", "--trace", trace};
  const CommandOutcome told = run_command(words);
  ASSERT_EQ(told.code, ExitCode::ok) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("BEFORE THE STEPS"), HasSubstr("store"), HasSubstr("transform"),
                              HasSubstr("waits for these"), HasSubstr("bottleneck")));
  const Result<Bytes> file = os::read_file(trace, 1 << 24);
  ASSERT_OK(file);
  EXPECT_THAT(std::string(as_text(*file)),
              AllOf(HasSubstr("\"encode\""), HasSubstr("\"transform\""), HasSubstr("step 2")));
  std::vector<std::string> as_json = words;
  as_json.push_back("--json");
  const json answer = json::parse(run_command(as_json).out);
  EXPECT_EQ(answer["batch"], 32);
  EXPECT_EQ(answer["traced_steps"], 3);
  EXPECT_EQ(answer["steps"].back()["stage"], "step");
  EXPECT_EQ(answer["steps"].back()["calls"], 3);
}

TEST(ProfileData, SaysHowManyStepsATraceHasIfNotAll) {
  const TrainingTrace trace{.steps = std::vector<StepInfo>(2), .times = std::vector<StepTime>(6)};
  EXPECT_EQ(cut_trace_text(trace, 3), "");
  EXPECT_THAT(cut_trace_text(trace, 4), HasSubstr("the first 3 of 4 steps"));
}

TEST(ProfileData, AnAugmentationNeedsData) {
  EXPECT_EQ(run_command({"model", "profile", "net.cotf", "--augment", "flip"}).code, ExitCode::usage);
}

}  // namespace
}  // namespace coterie::test
