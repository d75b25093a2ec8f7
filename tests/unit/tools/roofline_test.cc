// Work and roofs of ops: what two networks ask for, and what that makes of times and peaks, by hand.
#include "tools/roofline/roofline.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "device_sdk/runtime/profiler.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/shape_inference.h"
#include "tests/support/matchers.h"
#include "tools/model/step_listing.h"
#include "tools/model/zoo.h"
#include "tools/roofline/op_work.h"
#include "tools/roofline/roofline_chart.h"
#include "tools/roofline/roofline_text.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kBatch = 4;

// A network whose every op takes a microsecond forward, and two backward.
struct Net {
  explicit Net(ModelKind kind) {
    Result<Bytes> file = make_model(kind, {8, 8, 1}, 10, 1);
    EXPECT_OK(file);
    Result<Model> made = Model::load(std::move(*file));
    EXPECT_OK(made);
    model.emplace(std::move(*made));
    const Result<StepListing> listing = list_steps(*model, kBatch);
    EXPECT_OK(listing);
    for (const ListedStep& step : listing->steps) profile.steps.push_back(step.info);
    const Result<InferredTypes> inferred = infer_types(model->graph(), kBatch);
    EXPECT_OK(inferred);
    const std::vector<OpInfo>& ops = model->graph().ops;
    for (uint32_t i = 0; i < ops.size(); ++i) {
      add(ops[i].name, std::string(to_string(ops[i].kind)), inferred->op_flops[i], i);
    }
    add("", "update", 0, kUpdateOrigin);
  }
  void add(const std::string& name, const std::string& kind, double flops, uint32_t origin) {
    profile.ops.push_back({name, kind, 1e-6, 2e-6, flops, {}, origin});
  }
  OpWork work(const std::string& name) const {
    for (const OpTime& op : profile.ops) {
      if (op.name != name && op.kind != name) continue;
      return work_of(op.origin, model->graph(), op.forward_flops, profile.steps);
    }
    ADD_FAILURE() << "no " << name;
    return {};
  }

  std::optional<Model> model;
  TrainingProfile profile;
};

TEST(OpWork, OfDenseLayersIsByHand) {
  const Net mlp(ModelKind::mlp);  // 64 to 64 to 10
  const OpWork last = mlp.work("dense2");
  EXPECT_EQ(last.forward.flops, 2.0 * kBatch * 64 * 10);
  EXPECT_EQ(last.backward.flops, 2 * last.forward.flops) << "of weights and of inputs";
  const uint64_t x = 4 * kBatch * 64, w = 4 * 64 * 10, bias = 4 * 10, y = 4 * kBatch * 10;
  EXPECT_EQ(last.forward.bytes, x + w + bias + y) << "workspace is not counted";
  EXPECT_EQ(last.backward.bytes, (x + y + w + bias) + (y + w + x));
  EXPECT_EQ(last.backward.working_set, x + y + w + bias);
  const OpWork first = mlp.work("dense1");
  EXPECT_EQ(first.forward.flops, 2.0 * kBatch * 64 * 64);
  EXPECT_EQ(first.backward.flops, first.forward.flops) << "nobody asks for the gradient of pixels";
  const OpWork update = mlp.work("update");
  EXPECT_EQ(update.backward.flops, 0);
  EXPECT_EQ(update.backward.bytes, 3 * 4 * (64 * 64 + 64 + 64 * 10 + 10))
      << "gradients read, parameters read and written";
}

TEST(OpWork, OfAConvolutionIsByHand) {
  const Net cnn(ModelKind::cnn);  // 3x3, 1 to 16 to 32 channels
  const OpWork first = cnn.work("conv1"), second = cnn.work("conv2");
  EXPECT_EQ(first.forward.flops, 2.0 * kBatch * 64 * 9 * 16);
  EXPECT_EQ(first.backward.flops, first.forward.flops);
  EXPECT_EQ(second.forward.flops, 2.0 * kBatch * 64 * 9 * 16 * 32);
  EXPECT_EQ(second.backward.flops, 2 * second.forward.flops);
  const uint64_t x = 4 * kBatch * 64, w = 4 * 9 * 16, bias = 4 * 16, y = 4 * kBatch * 64 * 16;
  EXPECT_EQ(first.forward.bytes, (w + w) + (x + w + w + bias + y)) << "weights are packed first, and read again";
  EXPECT_EQ(first.forward.working_set, x + w + w + bias + y);
}

TEST(Roofline, IsTheSmallerOfPeakAndIntensityTimesRate) {
  const MachinePeaks peaks{.flops_per_second = 4e9, .memory = {{1000, 8e9}, {1 << 20, 1e9}}};
  EXPECT_EQ(peaks.rate_for(1000), 8e9);
  EXPECT_EQ(peaks.rate_for(1001), 1e9);
  EXPECT_EQ(peaks.rate_for(1 << 30), 1e9) << "beyond what was measured, the last";
  const RoofedTime dense = roofed({.flops = 8000, .bytes = 1000, .working_set = 1000}, 4e-6, peaks);
  EXPECT_DOUBLE_EQ(dense.intensity(), 8);
  EXPECT_DOUBLE_EQ(dense.roof(), 4e9);
  EXPECT_DOUBLE_EQ(dense.share(), 0.5);
  EXPECT_EQ(dense.bound(), Bound::compute);
  const RoofedTime relu = roofed({.flops = 1000, .bytes = 8000, .working_set = 8000}, 16e-6, peaks);
  EXPECT_DOUBLE_EQ(relu.roof(), 0.125e9);
  EXPECT_DOUBLE_EQ(relu.share(), 0.5);
  EXPECT_EQ(relu.bound(), Bound::memory);
  RoofedTime both = dense;
  both += relu;
  EXPECT_DOUBLE_EQ(both.least_seconds(), 10e-6) << "each has a roof of its own";
  EXPECT_EQ(both.bound(), Bound::memory);
  EXPECT_EQ(roofed({}, 1e-6, peaks).roof(), 0);
}

TEST(Roofline, IsToldInEightyColumnsAndDrawn) {
  const Net cnn(ModelKind::cnn);
  const MachinePeaks peaks{.flops_per_second = 50e9, .memory = {{32 << 10, 100e9}, {128 << 20, 8e9}}};
  const std::vector<RoofedOp> ops = roofline(cnn.profile, cnn.model->graph(), peaks);
  const std::string text = roofline_text(ops, peaks);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, HasSubstr("at most 50.0 GFLOP/s\nGB/s of 32 KiB 100, 128 MiB 8.00\n"));
  const std::vector<RoofedOp> kinds = by_kind(ops);
  EXPECT_EQ(kinds.size(), 6u) << "conv2d, relu, max_pool2d, flatten, dense, update";
  EXPECT_NEAR(sum_of(kinds).least_seconds(), sum_of(ops).least_seconds(), 1e-15);
  const nlohmann::json json = roofline_json(ops, peaks);
  EXPECT_EQ(json["ops"].size(), ops.size());
  EXPECT_DOUBLE_EQ(json["ops"][0]["forward"]["seconds"], 1e-6);
  EXPECT_EQ(json["ops"].back()["bound"], "memory");
  const std::string drawn = draw_roofline(ops, peaks, "net <1>");
  EXPECT_THAT(drawn, HasSubstr("conv2, conv2d: "));
  EXPECT_THAT(drawn, HasSubstr("net &lt;1&gt;"));
  EXPECT_THAT(drawn, HasSubstr("without operations: not drawn"));
}

}  // namespace
}  // namespace coterie::test
