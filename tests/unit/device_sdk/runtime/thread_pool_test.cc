// The pool hands out every part once, whatever the workers do, and training by it gives the same bits.
#include "device_sdk/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/part_times.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace coterie {
namespace {

using test::Examples;
using test::load_or_die;

std::unique_ptr<ThreadPool> pool_of(uint32_t threads) {
  Result<std::unique_ptr<ThreadPool>> pool = ThreadPool::create(threads);
  EXPECT_OK(pool);
  return std::move(*pool);
}

struct Counters {
  std::vector<std::atomic<uint32_t>> calls;
  explicit Counters(size_t parts) : calls(parts) {}
  static void count(const void* job, size_t part) {
    const_cast<Counters*>(static_cast<const Counters*>(job))->calls[part].fetch_add(1, std::memory_order_relaxed);
  }
};

TEST(ThreadPool, RunsEachPartOnceAndReturnsWhenAllAreDone) {
  for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
    const std::unique_ptr<ThreadPool> pool = pool_of(threads);
    EXPECT_EQ(pool->threads(), threads);
    for (const size_t parts : {1u, 2u, 7u, 100u}) {
      Counters counters(parts);
      for (uint32_t round = 1; round <= 50; ++round) {
        pool->run(Counters::count, &counters, parts);
        for (size_t part = 0; part < parts; ++part) ASSERT_EQ(counters.calls[part].load(), round) << part;
      }
    }
  }
}

TEST(ThreadPool, KeepsWhenWhichThreadRanAPartForWhomAsks) {
  const std::unique_ptr<ThreadPool> pool = pool_of(2);
  std::atomic<uint32_t> begun{0};
  // Each part waits for the other: no thread can run both.
  const ThreadPool::Task meet = [](const void* job, size_t) {
    auto& all = *const_cast<std::atomic<uint32_t>*>(static_cast<const std::atomic<uint32_t>*>(job));
    const uint32_t both = (all.fetch_add(1) / 2 + 1) * 2;
    while (all.load() < both) std::this_thread::yield();
  };
  std::atomic<int> clock{0};
  const auto kept = std::make_shared<PartTimes>([&clock] { return static_cast<double>(++clock); }, 2);
  pool->run(meet, &begun, 2);
  EXPECT_EQ(clock, 0) << "nobody has asked";
  std::vector<PartTimes::Part> times;
  pool->keep_times(kept);
  pool->run(meet, &begun, 2);
  kept->take(times);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].thread, 0u);
  EXPECT_EQ(times[1].thread, 1u);
  for (const PartTimes::Part& part : times) EXPECT_LT(part.begin, part.end);
  kept->take(times);
  EXPECT_EQ(times.size(), 2u) << "they are taken once";
}

// What a part wrote is seen by the caller, and by the parts of the next job: no atomics here, so that ThreadSanitizer
// judges the pool.
TEST(ThreadPool, OrdersMemory) {
  const std::unique_ptr<ThreadPool> pool = pool_of(4);
  struct Job {
    uint64_t* values;
    uint64_t* next;
  };
  std::vector<uint64_t> a(16, 1), b(16);
  for (int round = 0; round < 1000; ++round) {
    const Job job{a.data(), b.data()};
    pool->run(
        [](const void* data, size_t part) {
          const Job& todo = *static_cast<const Job*>(data);
          todo.next[part] = todo.values[part] + todo.values[(part + 1) % 16];
        },
        &job, 16);
    for (uint64_t& value : b) value &= 0xffff;
    std::swap(a, b);
  }
  uint64_t expected = 1;
  for (int round = 0; round < 1000; ++round) expected = 2 * expected & 0xffff;
  EXPECT_EQ(a, std::vector<uint64_t>(16, expected));
}

TEST(ThreadPool, EndsWithoutWork) {
  for (int i = 0; i < 20; ++i) pool_of(3);
}

std::vector<float> parameters_after(const Model& model, TrainOptions options, uint32_t threads) {
  options.threads = threads;
  Examples examples(50, elements(model.input_shape(0)), 10);
  Result<Trainer> trainer = Trainer::create(model, options, examples);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  return {trainer->parameters().begin(), trainer->parameters().end()};
}

// Each op by itself: the op rules' tests (gradient_of.h). Here whole trainings, with a last, smaller batch, gradients
// that are kept, and Adam.
TEST(Threads, TrainTheSameModel) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5}) {
    const Model model = load_or_die(make_model(kind, {28, 28, 1}, 10, 1));
    for (const float clip_norm : {0.0f, 1.0f}) {
      TrainOptions options{.optimizer = {.kind = OptimizerKind::adam}, .batch_size = 16, .clip_norm = clip_norm};
      options.part_nanoseconds_min = 100;
      const std::vector<float> one = parameters_after(model, options, 1);
      for (const uint32_t threads : {2u, 3u, 7u}) {
        const std::vector<float> several = parameters_after(model, options, threads);
        ASSERT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(float)), 0)
            << to_string(kind) << " by " << threads << " threads, clip " << clip_norm;
      }
    }
  }
}

// Writes the place of its workspace and its range behind one another into the third buffer.
struct Seen {
  const float* workspace;
  size_t begin, end;
};
void note_part(const Step& step, const StepContext&) {
  const auto& [x, workspace, notes] = step.take<3>();
  for (size_t i = step.part.begin; i < step.part.end; ++i) {
    reinterpret_cast<Seen*>(notes)[i] = {workspace, step.part.begin, step.part.end};
  }
}

constexpr StepKindOf<NoSettings> kNoteStep{"note", note_part};

std::vector<Seen> parts_seen(uint32_t threads, double part_nanoseconds_min, const Split& split) {
  Program program;
  program.set_threads(threads, part_nanoseconds_min);
  const BufferId x = program.add_planned(split.units * 400), workspace = program.add_workspace(100);
  const BufferId notes = program.add_planned(split.units * sizeof(Seen));
  program.read_after(notes);
  program.emit(Phase::forward, kNoteStep, {}, {x, workspace, notes}, split);
  EXPECT_OK(program.plan(1 << 20));
  ArenaLayout layout;
  layout.planned_bytes = program.planned_bytes();
  Result<Arena> arena = Arena::create(layout, 1 << 20);
  EXPECT_OK(arena);
  program.bind(*arena);
  const std::unique_ptr<ThreadPool> pool = pool_of(threads);
  program.run(Phase::forward, {.kernels = kernels::kernels(), .pool = pool.get()});
  const auto* seen = reinterpret_cast<const Seen*>(program.pointer(notes));
  return {seen, seen + split.units};
}

TEST(Program, CutsAStepAtItsGrainAndGivesEachPartAWorkspace) {
  const std::vector<Seen> seen = parts_seen(3, 0, {.units = 50, .grain = 8});
  for (size_t i = 0; i < 50; ++i) {
    const size_t begin = i < 16 ? 0 : i < 32 ? 16 : 32;  // 7 pieces of 8 in 3 parts: 2, 2, 3
    EXPECT_EQ(seen[i].begin, begin) << i;
    EXPECT_EQ(seen[i].end, begin == 32 ? 50 : begin + 16) << i;
    if (i >= 16) {
      EXPECT_GE(std::abs(seen[i].workspace - seen[begin - 1].workspace), 32) << i;  // 128 bytes: 100 rounded up
    }
  }
}

TEST(Program, CutsNoStepThatIsTooShort) {
  EXPECT_EQ(parts_seen(3, 1e6, {.units = 50})[49].begin, 0u);
  EXPECT_EQ(parts_seen(3, 1e6, {.units = 50, .flops = 1e12})[49].begin, 33u);
  EXPECT_EQ(parts_seen(3, 0, {.units = 50, .grain = 50})[49].begin, 0u);
  EXPECT_EQ(parts_seen(1, 0, {.units = 50})[49].begin, 0u);
}

TEST(Threads, AreLimited) {
  const Model model = load_or_die(make_model(ModelKind::mlp, {8, 8, 1}, 10, 1));
  Examples examples(8, 64, 10);
  for (const uint32_t threads : {0u, limits::kThreadsMax + 1}) {
    TrainOptions options;
    options.threads = threads;
    EXPECT_ERROR(Trainer::create(model, options, examples), ErrorCode::invalid_argument, "threads must be in 1..64");
  }
}

}  // namespace
}  // namespace coterie
