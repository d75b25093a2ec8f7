// No allocation between the first and the last batch: this binary counts every call of the global operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"

namespace {

std::atomic<uint64_t> g_allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  g_allocations.fetch_add(1);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* counted_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = counted(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kDefault = alignof(std::max_align_t);

}  // namespace

// Replacements ([replacement.functions]); the other forms of new and delete end up in these. Not inlined: GCC would see
// free() beside a new that it did not inline and take the two for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted_or_throw(bytes, kDefault); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_or_throw(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, kDefault);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace coterie::test {
namespace {

TEST(Allocations, AreSeenByTheCounter) {
  const uint64_t before = g_allocations.load();
  const auto vector = std::make_unique<std::vector<int>>(100);
  EXPECT_GE(g_allocations.load(), before + 2) << vector->size();
}

TEST(Allocations, DoNotHappenBetweenTheFirstAndTheLastBatchOfTraining) {
  struct Net {
    Model model;
    size_t features;
    uint32_t classes;
  };
  const Net nets[] = {{small_cnn(), 64, 10},
                      {tangled_net(), 7 * 6 * 4, 5},
                      {load_or_die(make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1)), 784, 10}};
  for (const Net& net : nets) {
    for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam}) {
      Examples examples(10, net.features, net.classes);  // three batches of 4, 4 and 2 an epoch
      const TrainingSettings settings{
          .batch_size = 4, .local_epochs = 3, .optimizer = {.kind = kind, .learning_rate = 0.01f, .momentum = 0.9f}};
      Result<Trainer> trainer = Trainer::create(net.model, settings, examples, 1);
      ASSERT_OK(trainer);
      uint64_t steps = 0;
      const uint64_t before = g_allocations.load();
      while (!trainer->finished() && trainer->step()) ++steps;
      const uint64_t after = g_allocations.load();
      EXPECT_EQ(steps, 9u);
      EXPECT_EQ(after - before, 0u);
    }
  }
}

TEST(Allocations, DoNotHappenDuringEvaluationOfAsManyExamplesAsBefore) {
  Examples examples(10, 64, 10);
  const Model model = small_cnn();
  Result<Evaluator> evaluator = Evaluator::create(model, Loss::softmax_cross_entropy, 4);
  ASSERT_OK(evaluator);
  ASSERT_OK(evaluator->run(model.parameters(), examples));
  const uint64_t before = g_allocations.load();
  const Result<Evaluation> evaluation = evaluator->run(model.parameters(), examples);
  const uint64_t after = g_allocations.load();
  ASSERT_OK(evaluation);
  EXPECT_EQ(after - before, 0u);
}

}  // namespace
}  // namespace coterie::test
