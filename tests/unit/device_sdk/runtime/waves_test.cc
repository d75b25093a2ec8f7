// Waves: what runs at the same time needs nothing of each other, by data nor by memory, and computes the same bits.
#include "device_sdk/runtime/waves.h"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cstring>
#include <set>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

using Needs = std::vector<uint32_t>;

std::vector<WaveStep> steps_of(const std::vector<Needs>& needs, double nanoseconds = 10) {
  std::vector<WaveStep> steps;
  for (const Needs& of : needs) {
    steps.push_back({.needs = of, .whole_nanoseconds = nanoseconds, .cut_nanoseconds = nanoseconds});
  }
  return steps;
}

// 0, then the towers 1 2 and 3 4 5, then 6, which needs both.
const std::vector<Needs> kTwoTowers = {{}, {0}, {1}, {0}, {3}, {4}, {2, 5}};

TEST(Waves, RunTheLongestBranchFirst) {
  const WavePlan plan = plan_waves(steps_of(kTwoTowers), 2, 6);
  EXPECT_EQ(plan.order, (Needs{0, 3, 4, 5, 1, 2, 6}));
  ASSERT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(plan.waves[0].begin, 1u);
  EXPECT_EQ(plan.waves[0].branch_ends, (Needs{4, 6}));
}

TEST(Waves, AreNoneWhereTheyDoNotPay) {
  const auto waves_of = [](std::vector<WaveStep> steps, uint32_t threads, double least) {
    return plan_waves(steps, threads, least).waves.size();
  };
  EXPECT_EQ(waves_of(steps_of(kTwoTowers), 2, 20), 1u);
  EXPECT_EQ(waves_of(steps_of(kTwoTowers), 2, 21), 0u) << "one branch is worth a thread";
  EXPECT_EQ(waves_of(steps_of(kTwoTowers), 1, 6), 0u);
  std::vector<WaveStep> cut = steps_of(kTwoTowers);
  for (WaveStep& step : cut) step.cut_nanoseconds = 5;
  EXPECT_EQ(waves_of(cut, 2, 6), 0u) << "two threads share each step";
  std::vector<WaveStep> lone = steps_of(kTwoTowers);
  lone[3].runs_alone = true;
  EXPECT_EQ(waves_of(lone, 2, 6), 0u);
  EXPECT_EQ(waves_of(steps_of({{}, {0}, {1}, {2}, {3}}), 2, 6), 0u) << "a chain";
}

// The backward pass of three towers that read the same value: gradients 2, 5 and 8 of it, with sums 6 and 9.
TEST(Waves, SumsOfGradientsWaitBehindTheirBranches) {
  std::vector<WaveStep> steps = steps_of({{}, {0}, {1}, {}, {3}, {4}, {2, 5}, {}, {7}, {6, 8}});
  steps[6].whole_nanoseconds = steps[6].cut_nanoseconds = 1;
  const WavePlan plan = plan_waves(steps, 3, 6);
  EXPECT_EQ(plan.order, (Needs{0, 1, 2, 3, 4, 5, 7, 8, 6, 9}));
  ASSERT_EQ(plan.waves.size(), 1u);
  EXPECT_EQ(plan.waves[0].branch_ends, (Needs{3, 6, 8}));
}

TEST(Waves, OfRandomGraphsKeepWhatStepsNeed) {
  size_t waves = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    std::vector<WaveStep> steps(20 + prng.below(60));
    for (uint32_t i = 0; i < steps.size(); ++i) {
      for (uint32_t count = static_cast<uint32_t>(prng.below(3)); i > 0 && count > 0; --count) {
        steps[i].needs.push_back(i - 1 - static_cast<uint32_t>(prng.below(std::min<uint64_t>(i, 6))));
      }
      steps[i].whole_nanoseconds = prng.uniform(0, 20);
      steps[i].cut_nanoseconds = steps[i].whole_nanoseconds * prng.uniform(0.3, 1);
      steps[i].runs_alone = prng.below(30) == 0;
    }
    const WavePlan plan = plan_waves(steps, 2 + static_cast<uint32_t>(prng.below(3)), 6);
    ASSERT_EQ(plan.order.size(), steps.size());
    std::vector<uint32_t> place(steps.size(), ~0u);
    for (uint32_t i = 0; i < plan.order.size(); ++i) place[plan.order[i]] = i;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      ASSERT_NE(place[i], ~0u);
      for (const uint32_t need : steps[i].needs) ASSERT_LT(place[need], place[i]);
    }
    uint32_t end = 0;
    for (const Wave& wave : plan.waves) {
      ++waves;
      ASSERT_GE(wave.begin, end);
      ASSERT_GE(wave.branches(), 2u);
      for (size_t branch = 0; branch < wave.branches(); ++branch) {
        for (uint32_t i = wave.branch_begin(branch); i < wave.branch_ends[branch]; ++i) {
          EXPECT_FALSE(steps[plan.order[i]].runs_alone);
          for (const uint32_t need : steps[plan.order[i]].needs) {
            EXPECT_TRUE(place[need] < wave.begin || place[need] >= wave.branch_begin(branch)) << "of another branch";
          }
        }
      }
      end = wave.end();
    }
  }
  EXPECT_GT(waves, 10u);
}

// --- programs

// y = number a + b; without b, number a + 1. A workspace is written over first; a state gets the sum of y.
struct FunctionSettings {
  uint32_t id;
  float number;
};

void describe_function(const FunctionSettings& s, SettingsText& text) { text.add("id", s.id); }

void run_function(const Step& step, const StepContext&) {
  const auto& [a, b, y, workspace, state] = step.take<5>();
  const auto& s = step.as<FunctionSettings>();
  float sum = 0;
  for (size_t i = step.part.begin; i < step.part.end; ++i) {
    if (workspace != nullptr) workspace[i % 16] = a[i] * s.number;
    y[i] = (workspace != nullptr ? workspace[i % 16] : a[i] * s.number) + (b == nullptr ? 1 : b[i]);
    sum += y[i];
  }
  if (state != nullptr) *state = *state * 0.5f + sum;
}

constexpr StepKindOf<FunctionSettings> kFunctionStep{"function", run_function, describe_function};

constexpr size_t kCount = 600;
constexpr uint64_t kBytes = kCount * sizeof(float);

struct RandomProgram {
  Program program;
  BufferId input = kNoBuffer;
  std::vector<BufferId> results, all;
  std::vector<std::vector<BufferId>> named;        // by step, in the order they were emitted
  std::set<std::pair<BufferId, BufferId>> shares;  // result, operand
};

constexpr size_t kStates = 3;

// Some towers, which now and then read each other, forward and backward.
RandomProgram random_program(uint64_t seed, uint32_t threads) {
  Prng prng(seed);
  RandomProgram made;
  Program& program = made.program;
  program.set_threads(threads, 0);
  made.input = program.add_planned(kBytes);
  made.all.push_back(made.input);
  program.fill_before(made.input);
  std::array<BufferId, kStates> states;
  for (size_t i = 0; i < kStates; ++i) states[i] = program.add_fixed(Region::parameters, i * sizeof(float));
  std::vector<std::vector<BufferId>> towers(2 + prng.below(3), {made.input});
  for (uint32_t id = 0; id < 60; ++id) {
    const Phase phase = id < 30 ? Phase::forward : Phase::backward;
    std::vector<BufferId>& tower = towers[id / 4 % towers.size()];
    const auto any = [&](const std::vector<BufferId>& of) {
      return of[of.size() - 1 - prng.below(std::min<uint64_t>(of.size(), 3))];
    };
    const BufferId a = any(tower), y = program.add_planned(kBytes);
    const BufferId b = prng.below(6) == 0   ? any(towers[prng.below(towers.size())])
                       : prng.below(2) == 0 ? any(tower)
                                            : kNoBuffer;
    const BufferId workspace = prng.below(3) == 0 ? program.add_workspace(64) : kNoBuffer;
    const BufferId state = phase == Phase::backward && prng.below(6) == 0 ? states[prng.below(kStates)] : kNoBuffer;
    program.set_origin(id);
    const FunctionSettings settings{id, static_cast<float>(prng.uniform(-1, 1))};
    const bool is_cut = state == kNoBuffer && prng.below(3) == 0;
    program.emit(phase, kFunctionStep, settings, {a, b, y, workspace, state},
                 is_cut ? Split{.units = kCount} : Split{.units = kCount, .grain = kCount});
    if (state != kNoBuffer) program.last_changes_state(phase);
    made.named.push_back({a, b, y, workspace});
    for (const BufferId operand : {a, b}) {
      if (operand == kNoBuffer || prng.below(2) == 0) continue;
      program.may_share(y, operand);
      made.shares.insert({y, operand});
    }
    if (prng.below(8) == 0 || id >= 56) {
      program.read_after(y);
      made.results.push_back(y);
    }
    tower.push_back(y);
    for (const BufferId id_of : {y, workspace}) {
      if (id_of != kNoBuffer) made.all.push_back(id_of);
    }
  }
  return made;
}

Arena arena_of(Program& program) {
  EXPECT_OK(program.plan(1 << 24));
  ArenaLayout layout;
  layout.planned_bytes = program.planned_bytes();
  layout.of(Region::parameters) = kStates * sizeof(float);
  Result<Arena> arena = Arena::create(layout, 1 << 24);
  EXPECT_OK(arena);
  program.bind(*arena);
  return std::move(*arena);
}

// What the program has computed after some runs.
std::vector<float> results_of(RandomProgram& made, uint32_t threads, int runs) {
  const Arena arena = arena_of(made.program);
  Result<std::unique_ptr<ThreadPool>> pool = ThreadPool::create(threads);
  EXPECT_OK(pool);
  const std::vector<float> x = random_values(kCount, 5);
  for (int run = 0; run < runs; ++run) {
    std::copy(x.begin(), x.end(), made.program.pointer(made.input));
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      made.program.run(phase, {.kernels = kernels::kernels(), .pool = pool->get()});
    }
  }
  const std::span<const float> states = arena.region(Region::parameters);
  std::vector<float> seen(states.begin(), states.end());
  for (const BufferId id : made.results) {
    const float* from = made.program.pointer(id);
    seen.insert(seen.end(), from, from + kCount);
  }
  return seen;
}

TEST(Waves, OfRandomProgramsGiveTheSameBits) {
  size_t waves = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram plain = random_program(seed, 1);
    EXPECT_FALSE(plain.program.run_in_waves({})) << "one thread";
    const std::vector<float> expected = results_of(plain, 1, 3);
    for (const uint32_t threads : {2u, 4u}) {
      RandomProgram made = random_program(seed, threads);
      made.program.run_in_waves({});
      for (const Phase phase : {Phase::forward, Phase::backward}) waves += made.program.waves(phase).size();
      const std::vector<float> seen = results_of(made, threads, 3);
      ASSERT_EQ(std::memcmp(seen.data(), expected.data(), expected.size() * sizeof(float)), 0) << threads;
    }
  }
  EXPECT_GT(waves, 12u);
}

#ifndef COTERIE_NO_STEP_TEXT

// When a step runs, as far as the waves say it: before the first is {-1}, behind the last {1000}.
struct Moment {
  int place;
  int wave = -1, branch = -1;
};

bool is_before(const Moment& a, const Moment& b) {
  return a.place < b.place && (a.wave < 0 || a.wave != b.wave || a.branch == b.branch);
}

std::vector<Moment> moments_of(const Program& program) {
  std::vector<Moment> moments;
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const size_t first = moments.size();
    for (size_t i = 0; i < program.step_count(phase); ++i) moments.push_back({static_cast<int>(moments.size())});
    int number = 100 * static_cast<int>(phase);
    for (const Wave& wave : program.waves(phase)) {
      ++number;
      for (size_t branch = 0; branch < wave.branches(); ++branch) {
        for (size_t i = wave.branch_begin(branch); i < wave.branch_ends[branch]; ++i) {
          moments[first + i].wave = number;
          moments[first + i].branch = static_cast<int>(branch);
        }
      }
    }
  }
  return moments;
}

// By brute force over all pairs of buffers and of steps that name them: if two overlap, all that the one does is done
// before the other begins, whichever way the branches' steps run. A step may write over what it reads where it was
// said that it may.
TEST(Waves, OverlayNoMemoryThatIsAliveInAnotherBranch) {
  size_t overlaid = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram made = random_program(seed, 3);
    made.program.run_in_waves({});
    const Arena arena = arena_of(made.program);
    const std::vector<Moment> moments = moments_of(made.program);
    const std::vector<StepInfo> steps = made.program.steps();
    std::map<BufferId, std::vector<Moment>> touches;
    touches[made.input].push_back({-1});
    std::map<BufferId, uint64_t> bytes;
    for (size_t place = 0; place < steps.size(); ++place) {
      uint32_t id = 0;
      const std::string& text = steps[place].settings;
      ASSERT_EQ(std::from_chars(text.data() + text.rfind(' ') + 1, text.data() + text.size(), id).ec, std::errc());
      for (const BufferId buffer : made.named[id]) {
        if (buffer != kNoBuffer) touches[buffer].push_back(moments[place]);
      }
    }
    for (const BufferId result : made.results) touches[result].push_back({1000});
    for (const BufferId id : made.all) bytes[id] = kBytes;
    for (const auto& named : made.named) {
      if (named[3] != kNoBuffer) bytes[named[3]] = 64;  // of each part; the others lie behind
    }
    const auto all_before = [&](BufferId x, BufferId y) {
      for (const Moment& a : touches[x]) {
        for (const Moment& b : touches[y]) {
          if (!is_before(a, b) && (a.place != b.place || !made.shares.contains({y, x}))) return false;
        }
      }
      return true;
    };
    for (const BufferId x : made.all) {
      for (const BufferId y : made.all) {
        const auto *from = made.program.pointer(x), *other = made.program.pointer(y);
        const bool overlap = from < other + bytes[y] / sizeof(float) && other < from + bytes[x] / sizeof(float);
        if (x >= y || !overlap) continue;
        ++overlaid;
        EXPECT_TRUE(all_before(x, y) || all_before(y, x)) << x << " and " << y;
      }
    }
  }
  EXPECT_GT(overlaid, 100u);
}

#endif

// --- networks

TensorId conv(ModelBuilder& build, TensorId x, uint32_t filters, uint32_t kernel) {
  return build.relu(build.conv2d(x, {.filters = filters, .kernel = kernel, .pad = kernel / 2}));
}

// Szegedy et al. 2015, figure 2b, twice.
Bytes inception() {
  ModelBuilder build("inception", {12, 12, 3}, 1);
  TensorId x = conv(build, build.input(), 8, 3);
  for (int block = 0; block < 2; ++block) {
    const TensorId one = conv(build, x, 8, 1), three = conv(build, conv(build, x, 6, 1), 8, 3);
    const TensorId five = conv(build, conv(build, x, 4, 1), 8, 5);
    const TensorId pooled = conv(build, build.max_pool2d(x, {.kernel = 3, .stride = 1, .pad = 1}), 8, 1);
    x = build.op(OpKind::concat, {one, three, five, pooled}, AxisAttributes{3});
  }
  return *build.finish(build.dense(build.global_average_pool2d(x), 4));
}

// Two towers, each over its own half of the input, with a batch norm, whose state changes, and dropout.
Bytes towers() {
  ModelBuilder build("towers", {12}, 1);
  TensorId y[2];
  for (int side = 0; side < 2; ++side) {
    y[side] = build.batch_norm(build.dense(build.input(), 32));
    for (int layer = 0; layer < 3; ++layer) y[side] = build.relu(build.dense(y[side], 32));
    y[side] = build.op(OpKind::dropout, {y[side]}, DropoutAttributes{0.2f});
  }
  return *build.finish(build.dense(build.add(y[0], y[1]), 4));
}

// An LSTM in each direction over the same sequence.
Bytes both_directions() {
  constexpr int64_t kHidden = 8;
  ModelBuilder build("bilstm", {6, 5}, 1);
  const TensorId x = build.op(OpKind::transpose, {build.input()}, TransposeAttributes{{1, 0, 2}});
  std::vector<TensorId> last;
  for (const bool is_reverse : {false, true}) {
    const std::string name = is_reverse ? "back" : "forth";
    const std::vector<TensorId> inputs{x, build.uniform(name + ".w", {5, 4 * kHidden}, 0.3),
                                       build.uniform(name + ".r", {kHidden, 4 * kHidden}, 0.3),
                                       build.uniform(name + ".b", {4 * kHidden}, 0.3)};
    last.push_back(build.outputs(OpKind::lstm, inputs, RnnAttributes{.hidden = kHidden, .is_reverse = is_reverse})[1]);
  }
  return *build.finish(build.dense(build.op(OpKind::concat, last, AxisAttributes{1}), 4));
}

CompiledModel compiled(const Model& model, CompileSettings settings) {
  settings.loss.kind = Loss::softmax_cross_entropy;
  settings.batch_size = 4;
  if (settings.arena_bytes_max == 0) settings.arena_bytes_max = limits::kArenaBytesMax;
  settings.part_nanoseconds_min = 0;
  Result<CompiledModel> made = compile(model, settings);
  EXPECT_OK(made);
  return std::move(*made);
}

std::vector<float> trained_by(const Model& model, uint32_t threads, bool keeps_gradients) {
  Batch batch(model, 12);
  TrainOptions options{.optimizer = {.kind = OptimizerKind::adam}, .batch_size = 4, .epochs = 2};
  options.clip_norm = keeps_gradients ? 1.0f : 0.0f;
  options.threads = threads;
  options.part_nanoseconds_min = 0;
  Result<Trainer> trainer = Trainer::create(model, options, batch);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  return {trainer->parameters().begin(), trainer->parameters().end()};
}

TEST(Waves, TrainTheSameModel) {
  for (const Bytes& file : {inception(), towers(), both_directions()}) {
    const Model model = load_or_die(file);
    SCOPED_TRACE(model.graph().name);
    const CompiledModel made = compiled(model, {.threads = 2});
    EXPECT_GE(made.program.waves(Phase::forward).size(), 1u);
    EXPECT_GE(made.program.waves(Phase::backward).size(), 1u);
    EXPECT_TRUE(compiled(model, {.threads = 1}).program.waves(Phase::forward).empty());
    for (const bool keeps_gradients : {false, true}) {
      const std::vector<float> one = trained_by(model, 1, keeps_gradients);
      for (const uint32_t threads : {2u, 4u}) {
        const std::vector<float> several = trained_by(model, threads, keeps_gradients);
        EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(float)), 0) << threads << " threads";
      }
    }
  }
}

TEST(Waves, AreNoneWhereMemoryIsShort) {
  const Model model = load_or_die(inception());
  const CompiledModel one = compiled(model, {.threads = 1}), two = compiled(model, {.threads = 2});
  EXPECT_GT(two.layout.bytes(), one.layout.bytes());
  ASSERT_FALSE(two.program.waves(Phase::backward).empty());
  const CompiledModel short_arena = compiled(model, {.arena_bytes_max = two.layout.bytes() - 1, .threads = 2});
  EXPECT_TRUE(short_arena.program.waves(Phase::backward).empty());
  EXPECT_LT(short_arena.layout.bytes(), two.layout.bytes());
  const CompiledModel limited = compiled(model, {.planned_bytes_max = two.layout.planned_bytes - 1, .threads = 2});
  EXPECT_TRUE(limited.program.waves(Phase::backward).empty());
}

}  // namespace
}  // namespace coterie::test
