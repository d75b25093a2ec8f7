// Delegates by libraries, where this build has them: they compute what our kernels compute, or are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/predictor.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#ifdef COTERIE_HAS_ONEDNN
#include "device_sdk/delegates/onednn/onednn_delegate.h"
#endif
#ifdef COTERIE_HAS_OPENCL
#include "device_sdk/delegates/opencl/opencl_delegate.h"
#endif

// PoCL and LLVM keep what they have compiled until the process ends.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() { return "leak:libpocl\nleak:libLLVM\n"; }

namespace coterie::test {
namespace {

Result<std::unique_ptr<Delegate>> open(const std::string& name) {
#ifdef COTERIE_HAS_ONEDNN
  if (name == "onednn") return make_onednn_delegate();
#endif
#ifdef COTERIE_HAS_OPENCL
  if (name == "opencl") return open_opencl_delegate();
#endif
  return Error(ErrorCode::unavailable, "this build has no " + name);
}

// Statistics that are no zeros and ones.
TensorId norm(ModelBuilder& build, TensorId x, int64_t channels, const std::string& name) {
  const auto drawn = [&](double low, double high, uint64_t seed) {
    Prng prng(seed);
    std::vector<float> values(static_cast<size_t>(channels));
    for (float& value : values) value = static_cast<float>(prng.uniform(low, high));
    return values;
  };
  return build.op(OpKind::batch_norm, {x, build.parameter(name + ".scale", {channels}, drawn(0.5, 2, 1)),
                                       build.parameter(name + ".bias", {channels}, drawn(-1, 1, 2)),
                                       build.state(name + ".mean", {channels}, drawn(-1, 1, 3)),
                                       build.state(name + ".variance", {channels}, drawn(0.3, 3, 4))});
}

// Norms behind a layer and by themselves; a residual; a softmax.
Model normed_net() {
  ModelBuilder build("normed", {6, 6, 3}, 4);
  TensorId x = build.relu(norm(build, build.conv2d(build.input(), {.filters = 8, .kernel = 3, .pad = 1}), 8, "a"));
  const TensorId same = norm(build, build.relu(x), 8, "b");
  x = build.relu(build.add(x, same));
  x = build.op(OpKind::relu6, {build.conv2d(x, {.filters = 8, .kernel = 3, .stride = 2, .pad = 1, .groups = 4})});
  x = build.op(OpKind::dropout, {build.dense(build.flatten(x), 5)});
  return load_or_die(build.finish(build.op(OpKind::softmax, {x}, AxisAttributes{.axis = 1})));
}

// A norm of three dimensions, with fewer channels than rows: oneDNN would read a scale a row.
Model normed_rows() {
  ModelBuilder build("normed_rows", {64, 3}, 4);
  return load_or_die(build.finish(build.dense(build.flatten(norm(build, build.input(), 3, "a")), 50)));
}

class DelegateLibrary : public testing::TestWithParam<const char*> {};

TEST_P(DelegateLibrary, ComputesWhatOurKernelsCompute) {
  Result<std::unique_ptr<Delegate>> delegate = open(GetParam());
  if (!delegate) GTEST_SKIP() << delegate.error().message();
  const Model models[] = {small_cnn(), tangled_net(), normed_net(), normed_rows()};
  for (const Model& model : models) {
    SCOPED_TRACE(model.graph().name);
    const Examples examples(5, elements(model.input_shape()), 2);
    const std::span<const float> inputs(examples.values());
    std::vector<float> expected(5 * elements(model.output_shape())), seen(expected.size());
    ASSERT_OK(Predictor::create(model, 2)->run({&inputs, 1}, 5, expected));
    Result<DelegatedPredictor> predictor =
        DelegatedPredictor::create(model, **delegate, {.batch_size = 2, .takes_whatever_cost = true});
    ASSERT_OK(predictor);
    ASSERT_OK(predictor->run({&inputs, 1}, 5, seen));
    const DelegateReport report = predictor->report();
    ASSERT_FALSE(report.parts.empty());
    for (const DelegateReport::Part& part : report.parts) {
      EXPECT_EQ(part.refusal, "");
      EXPECT_EQ(part.copies.runs, 3u);
      EXPECT_EQ(part.copies.copies > 0, report.traits.domain == MemoryDomain::device);
    }
    EXPECT_GT(report.delegated_flops(), 0.8 * report.flops);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-4f) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DelegateLibrary, testing::Values("onednn", "opencl"));

}  // namespace
}  // namespace coterie::test
