#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/delegate/partition.h"
#include "tests/unit/device_sdk/runtime/delegate_fixtures.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie::test {
namespace {

using Ops = std::vector<uint32_t>;

std::vector<float> random_values(uint64_t count, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-1, 1));
  return values;
}

template <typename AnyPredictor>
std::vector<float> outputs_of(AnyPredictor& predictor, const Model& model, std::span<const float> inputs,
                              uint64_t count) {
  std::vector<float> outputs(count * elements(model.output_shape()), -1);
  EXPECT_OK(predictor.run({&inputs, 1}, count, outputs));
  return outputs;
}

std::vector<float> own_outputs(const Model& model, std::span<const float> inputs, uint64_t count, uint32_t batch) {
  Result<Predictor> predictor = Predictor::create(model, batch);
  EXPECT_OK(predictor);
  return outputs_of(*predictor, model, inputs, count);
}

std::string reason_of(const Partition& plan, uint32_t op) {
  const auto found = std::ranges::find(plan.own, op, &OwnOp::op);
  return found == plan.own.end() ? "" : found->reason;
}

// x -> a (dense), b (softmax of a), c (relu of a), d (add b c), e (dense of d).
Model diamond() {
  ModelBuilder build("diamond", {4}, 3);
  const TensorId a = build.dense(build.input(), 6);
  const TensorId b = build.op(OpKind::softmax, {a}, AxisAttributes{.axis = 1});
  const TensorId c = build.relu(a);
  return load_or_die(build.finish(build.dense(build.add(b, c), 3)));
}

// A part that had a, c and d would be left and entered again by b.
TEST(DelegatePartition, IsConvex) {
  const Model model = diamond();
  ReferenceDelegate delegate(model);
  delegate.refused_kinds = {OpKind::softmax};
  const Result<Partition> plan = partition(model, delegate, {.batch_size = 2});
  ASSERT_OK(plan);
  ASSERT_EQ(plan->parts.size(), 2u);
  EXPECT_EQ(plan->parts[0].ops, (Ops{0, 2}));
  EXPECT_EQ(plan->parts[1].ops, (Ops{3, 4}));
  EXPECT_EQ(plan->parts[0].outputs.size(), 2u);
  EXPECT_EQ(plan->parts[0].input_bytes, 2 * 4 * sizeof(float));
  EXPECT_EQ(reason_of(*plan, 1), "the test refuses its kind");
  delegate.refused_kinds.clear();
  const Result<Partition> whole = partition(model, delegate, {.batch_size = 2});
  ASSERT_OK(whole);
  ASSERT_EQ(whole->parts.size(), 1u);
  EXPECT_EQ(whole->parts[0].ops, (Ops{0, 1, 2, 3, 4}));
}

TEST(DelegatePartition, LeavesOutWhatDoesNotPay) {
  const Model model = diamond();
  ReferenceDelegate delegate(model);
  delegate.traits_.saved_nanoseconds_per_flop = 0.01;
  delegate.traits_.launch_nanoseconds = 5'000;
  const Result<Partition> plan = partition(model, delegate, {});
  ASSERT_OK(plan);
  EXPECT_TRUE(plan->parts.empty());
  EXPECT_THAT(reason_of(*plan, 0), testing::HasSubstr("its border costs 5 us"));
  const Result<Partition> all = partition(model, delegate, {.takes_whatever_cost = true});
  ASSERT_OK(all);
  EXPECT_EQ(all->parts.size(), 1u);
}

TEST(DelegatePartition, TakesNothingOfATrainingWithoutBackward) {
  const Model model = diamond();
  ReferenceDelegate delegate(model);
  const Result<Partition> plan = partition(model, delegate, {.trains = true});
  ASSERT_OK(plan);
  EXPECT_TRUE(plan->parts.empty());
  EXPECT_EQ(reason_of(*plan, 0), "reference computes no backward");
  delegate.traits_.computes_backward = true;
  EXPECT_EQ(partition(model, delegate, {.trains = true})->parts.size(), 1u);
}

// Whichever ops are taken: parts are convex and disjoint, their order is one, and what comes out is what our kernels
// say.
TEST(DelegatedPredictor, ComputesWhatOurKernelsWouldWhateverIsTaken) {
  const Model model = tangled_net();
  const std::vector<float> inputs = random_values(3 * elements(model.input_shape()), 5);
  const std::vector<float> expected = own_outputs(model, inputs, 3, 2);
  size_t parts = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    ReferenceDelegate delegate(model);
    Prng prng(seed);
    for (uint32_t op = 0; op < model.graph().ops.size(); ++op) {
      if (prng.below(4) == 0) delegate.refused_ops.insert(op);
    }
    Result<DelegatedPredictor> predictor = DelegatedPredictor::create(model, delegate, {.batch_size = 2});
    ASSERT_OK(predictor);
    const std::vector<float> seen = outputs_of(*predictor, model, inputs, 3);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(seen[i], expected[i], 1e-4f * std::fabs(expected[i]) + 1e-5f);
    for (const DelegateReport::Part& part : predictor->report().parts) {
      EXPECT_EQ(part.refusal, "");
      EXPECT_TRUE(part.verified.has_value());
      EXPECT_EQ(part.copies.runs, 2u);
      EXPECT_EQ(part.copies.copies, 0u);
    }
    parts += predictor->report().parts.size();
  }
  EXPECT_GT(parts, 24u);
}

// After a refusal the outputs are those of our kernels, to the bit.
struct Crime {
  const char* name;
  Deed deed;
  const char* sentence;
};

class HostileDelegate : public testing::TestWithParam<Crime> {};

TEST_P(HostileDelegate, IsRefusedAndReplaced) {
  const auto& [name, deed, sentence] = GetParam();
  SCOPED_TRACE(name);
  const Model model = small_cnn();
  const std::vector<float> inputs = random_values(8 * elements(model.input_shape()), 6);
  ReferenceDelegate delegate(model, deed);
  Result<DelegatedPredictor> predictor = DelegatedPredictor::create(model, delegate, {.batch_size = 2});
  ASSERT_OK(predictor);
  EXPECT_EQ(outputs_of(*predictor, model, inputs, 8), own_outputs(model, inputs, 8, 2));
  const DelegateReport report = predictor->report();
  ASSERT_EQ(report.parts.size(), 1u);
  EXPECT_THAT(report.parts[0].refusal, testing::HasSubstr(sentence));
  EXPECT_EQ(report.delegated_flops(), 0);
  EXPECT_EQ(outputs_of(*predictor, model, inputs, 8), own_outputs(model, inputs, 8, 2));
}

INSTANTIATE_TEST_SUITE_P(All, HostileDelegate,
                         testing::Values(Crime{"Scales", Deed::scales, "and rounding by at most"},
                                         Crime{"LeavesUnwritten", Deed::leaves_unwritten, "seen nan"},
                                         Crime{"WritesBeyond", Deed::writes_beyond, "written beyond the buffer"},
                                         Crime{"WritesBefore", Deed::writes_before, "written beyond the buffer"},
                                         Crime{"WritesIntoInput", Deed::writes_into_input, "written into its input"},
                                         Crime{"Fails", Deed::fails, "the test's device is gone"},
                                         Crime{"Throws", Deed::throws, "it has thrown: the test's bad day"},
                                         Crime{"FailsLater", Deed::fails_later, "the test's device is gone"},
                                         Crime{"DoesNotCompile", Deed::does_not_compile,
                                               "was not compiled: the test's device is gone"}),
                         [](const testing::TestParamInfo<Crime>& crime) { return crime.param.name; });

// What lies inside of a part takes memory once our kernels compute it.
TEST(DelegatedPredictor, SaysAtEachRunThatWithoutAPartItLacksMemory) {
  const Model model = small_cnn();
  const std::vector<float> inputs = random_values(2 * elements(model.input_shape()), 6);
  std::vector<float> outputs(2 * elements(model.output_shape()));
  uint64_t too_little = 0, enough = limits::kArenaBytesMax;
  while (enough - too_little > 1) {
    const uint64_t between = too_little + (enough - too_little) / 2;
    (Predictor::create(model, 2, between) ? enough : too_little) = between;
  }
  ReferenceDelegate delegate(model, Deed::fails);
  Result<DelegatedPredictor> predictor =
      DelegatedPredictor::create(model, delegate, {.batch_size = 2, .arena_bytes_max = too_little});
  ASSERT_OK(predictor) << "the delegate's part is one step";
  const std::span<const float> given(inputs);
  for (int run = 0; run < 2; ++run) {
    EXPECT_ERROR(predictor->run({&given, 1}, 2, outputs), ErrorCode::too_large, "bytes") << run;
  }
}

TEST(DelegatedPredictor, AcceptsWhatRoundingExplains) {
  const Model model = small_cnn();
  const std::vector<float> inputs = random_values(2 * elements(model.input_shape()), 6);
  ReferenceDelegate delegate(model, Deed::scales_a_little);
  Result<DelegatedPredictor> predictor = DelegatedPredictor::create(model, delegate, {.batch_size = 2});
  ASSERT_OK(predictor);
  EXPECT_NE(outputs_of(*predictor, model, inputs, 2), own_outputs(model, inputs, 2, 2));
  const DelegateReport report = predictor->report();
  ASSERT_EQ(report.parts.size(), 1u);
  EXPECT_EQ(report.parts[0].refusal, "");
  ASSERT_TRUE(report.parts[0].verified.has_value());
  EXPECT_GT(report.parts[0].verified->difference, 0);
  EXPECT_LT(report.parts[0].verified->bound, 1e-3 * report.parts[0].verified->largest);
  EXPECT_EQ(report.delegated_flops(), report.flops);
}

TEST(DelegatedPredictor, CopiesToADeviceAndCountsIt) {
  const Model model = small_cnn();
  const uint64_t in = elements(model.input_shape()), out = elements(model.output_shape());
  const std::vector<float> inputs = random_values(4 * in, 6);
  ReferenceDelegate delegate(model);
  delegate.traits_.domain = MemoryDomain::device;
  {
    Result<DelegatedPredictor> predictor = DelegatedPredictor::create(model, delegate, {.batch_size = 2});
    ASSERT_OK(predictor);
    EXPECT_EQ(delegate.heap.allocated.size(), 2u);
    EXPECT_EQ(outputs_of(*predictor, model, inputs, 4), own_outputs(model, inputs, 4, 2));
    const BorderCopies copies = predictor->report().parts.at(0).copies;
    EXPECT_EQ(copies.runs, 2u);
    EXPECT_EQ(copies.copies, 4u);
    EXPECT_EQ(copies.bytes, 2 * 2 * (in + out) * sizeof(float));
  }
  EXPECT_TRUE(delegate.heap.allocated.empty());
}

}  // namespace
}  // namespace coterie::test
