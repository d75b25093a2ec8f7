// Element-wise steps that run as one (program_chains.cc): the same bits, in fewer steps and less memory.
#include <gtest/gtest.h>

#include "device_sdk/runtime/recompute.h"
#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

// y = number a + b; without b, number a + 1.
void run_function(const Step& step, const StepContext&) {
  const auto [a, b, y] = step.slice<3>();
  const float number = step.as<float>();
  for (size_t i = 0; i < step.part.size(); ++i) y[i] = a[i] * number + (b == nullptr ? 1 : b[i]);
}

constexpr StepKindOf<float> kFunctionStep{"function", run_function};

constexpr Split by_units(size_t count) { return {.units = count, .grain = 1024}; }  // as a step that is no link

// Two sizes, of which one is no whole number of blocks; values of the one are never operands of the other.
constexpr size_t kSizes[] = {2500, 60};

struct Made {
  Program program;
  std::vector<BufferId> inputs, results;
};

Made random_program(uint64_t seed, uint32_t threads) {
  Prng prng(seed);
  Made made;
  made.program.set_threads(threads, 0);
  std::vector<BufferId> values[2];
  for (size_t size = 0; size < 2; ++size) {
    values[size].push_back(made.program.add_planned(kSizes[size] * sizeof(float)));
    made.inputs.push_back(values[size][0]);
    made.program.fill_before(values[size][0]);
  }
  for (int i = 0; i < 30; ++i) {
    const size_t size = prng.below(8) == 0 ? 1 : 0;
    std::vector<BufferId>& known = values[size];
    const auto any = [&] { return known[known.size() - 1 - prng.below(std::min<uint64_t>(known.size(), 3))]; };
    const BufferId a = any(), b = prng.below(2) == 0 ? any() : kNoBuffer;
    const BufferId y = made.program.add_planned(kSizes[size] * sizeof(float));
    const auto number = static_cast<float>(prng.uniform(-1, 1));
    made.program.emit(i < 20 ? Phase::forward : Phase::backward, kFunctionStep, number, {a, b, y},
                      prng.below(6) == 0 ? by_units(kSizes[size]) : by_elements(kSizes[size]));
    if (prng.below(2) == 0) made.program.may_share(y, a);
    if (b != kNoBuffer && prng.below(2) == 0) made.program.may_share(y, b);
    if (prng.below(8) == 0 || i == 29) {
      made.program.read_after(y);
      made.results.push_back(y);
    }
    known.push_back(y);
  }
  return made;
}

std::vector<float> results_of(Made& made) {
  EXPECT_OK(made.program.plan(1 << 24));
  ArenaLayout layout;
  layout.planned_bytes = made.program.planned_bytes();
  Result<Arena> arena = Arena::create(layout, 1 << 24);
  EXPECT_OK(arena);
  made.program.bind(*arena);
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<float> x = random_values(kSizes[i], 5);
    std::copy(x.begin(), x.end(), made.program.pointer(made.inputs[i]));
  }
  for (const Phase phase : {Phase::forward, Phase::backward}) made.program.run(phase, {.kernels = kernels::kernels()});
  std::vector<float> seen;
  for (const BufferId id : made.results) {
    const float* from = made.program.pointer(id);
    seen.insert(seen.end(), from, from + kSizes[1]);  // what both sizes have
  }
  return seen;
}

TEST(ProgramChains, GiveTheSameBitsOfRandomPrograms) {
  size_t steps_plain = 0, steps_joined = 0;
  uint64_t bytes_plain = 0, bytes_joined = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    for (const uint32_t threads : {1u, 3u}) {
      Made plain = random_program(seed, 1), joined = random_program(seed, threads);
      joined.program.join_elementwise();
      ASSERT_EQ(results_of(joined), results_of(plain));
      if (threads > 1) continue;
      steps_plain += plain.program.step_count();
      steps_joined += joined.program.step_count();
      bytes_plain += plain.program.planned_lower_bound();
      bytes_joined += joined.program.planned_lower_bound();
    }
  }
  EXPECT_LT(steps_joined * 3, steps_plain * 2);
  EXPECT_LT(bytes_joined, bytes_plain);
}

// A step that runs again is a link like any other.
TEST(ProgramChains, MayRunAgain) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Made plain = random_program(seed, 1), joined = random_program(seed, 1);
    joined.program.run_in_order(recompute_within(joined.program.schedule({}), 1).order);
    joined.program.join_elementwise();
    ASSERT_EQ(results_of(joined), results_of(plain));
  }
}

Model gate(bool is_trained) {
  ModelBuilder build("gate", is_trained ? Shape{5, 3} : Shape{40, 100}, 1);
  TensorId x = is_trained ? shifted(build, build.input()) : build.input();
  const float kNumbers[] = {3, 1.0f / 6};
  const TensorId three = build.constant("three", {1}, std::span<const float>(kNumbers, 1));
  const TensorId sixth = build.constant("sixth", {1}, std::span<const float>(kNumbers + 1, 1));
  // Hard swish in its parts, then tanh: add, relu6, mul by a number, mul by x, tanh.
  const TensorId clipped = build.op(OpKind::relu6, {build.op(OpKind::add, {x, three})});
  const TensorId y = build.op(OpKind::mul, {build.op(OpKind::mul, {clipped, sixth}), x});
  x = build.op(OpKind::tanh, {y});
  return is_trained ? scored(build, x) : computing(build, x);
}

TEST(ProgramChains, PredictionNeedsNoMemoryBetween) {
  const Model model = gate(false);
  const Result<CompiledModel> compiled =
      compile(model, {.purpose = Purpose::predict, .batch_size = 2, .arena_bytes_max = limits::kArenaBytesMax});
  ASSERT_OK(compiled);
  EXPECT_EQ(compiled->program.step_count(Phase::forward), 1u);
  const uint64_t tensor = 2 * 4000 * sizeof(float), block = 1024 * sizeof(float);
  EXPECT_LE(compiled->program.planned_bytes(), 2 * tensor + 2 * block + 128);

  Batch batch(model, 2, 7, -6, 6);
  const std::vector<float> seen = outputs_of(model, batch);
  for (size_t i = 0; i < seen.size(); ++i) {
    const float x = batch.floats()[i], y = std::clamp(x + 3, 0.0f, 6.0f) * (1.0f / 6) * x;
    EXPECT_NEAR(seen[i], std::tanh(y), 1e-6);
  }
}

TEST(ProgramChains, TrainingDifferentiatesThroughThem) {
  const Model model = gate(true);
  Batch batch(model, 2);
  expect_gradient_is_numerical(model, batch);
}

}  // namespace
}  // namespace coterie::test
