// Step: one entry of a Program at run time: {kind, pointers, settings}. Its kind says what it is called, which function
// runs it and how its settings read; there is one constant a kind, beside that function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "device_sdk/runtime/settings_text.h"
#include "device_sdk/runtime/thread_pool.h"
#include "train_kernels/kernel_table.h"
#include "train_kernels/range.h"

namespace coterie {

// What the updates of one step share (optimizer_rule.h).
struct OptimizerMoment {
  double learning_rate = 0;                 // the schedule applied
  double correction1 = 1, correction2 = 1;  // 1 - beta^t: Adam's bias corrections
  uint64_t step = 1;                        // t
};

// What a step is told beside its pointers. One for each run of a program.
struct StepContext {
  const kernels::KernelTable& kernels;
  kernels::LossSums* sums = nullptr;  // the loss adds to it
  double* loss_weight = nullptr;      // the loss adds what its mean divides by: rows, or the weights of their labels
  float loss_scale = 1;               // the gradient is that of loss_scale times the batch's mean loss
  // The batch is one of several of a step, whose mean divides by what the weights of all come to. The gradient is then
  // that of loss_scale times the batch's sum divided by its rows, and who adds the parts up does the rest.
  bool is_part_of_step = false;
  OptimizerMoment optimizer{};
  uint64_t random_seed = 0;      // of this step: dropout
  const char** fault = nullptr;  // set to what is wrong with the batch, an index outside a table; lives as the program
  ThreadPool* pool = nullptr;    // runs parts at the same time; without one no step is cut
};

struct Step;
using StepFunction = void (*)(const Step&, const StepContext&);

// The names and texts of steps are for people. A build with COTERIE_NO_STEP_TEXT, the engine alone, leaves them out:
// all of them are "" there.
struct StepKind {
  StepFunction run;
#ifndef COTERIE_NO_STEP_TEXT
  std::string_view step_name;  // "dense.forward"
  void (*write)(const StepKind& kind, const void* settings, SettingsText& text) = nullptr;

  constexpr std::string_view name() const { return step_name; }
  // "" if there is nothing to say that the operands do not.
  std::string describe(const void* settings) const {
    SettingsText text;
    if (write != nullptr) write(*this, settings, text);
    return text.text();
  }
#else
  constexpr std::string_view name() const { return {}; }
  std::string describe(const void*) const { return {}; }
#endif
};

// A kind whose steps have such settings; Program::emit() takes no others.
template <typename Settings>
struct StepKindOf : StepKind {
  using Describe = void (*)(const Settings&, SettingsText&);

#ifndef COTERIE_NO_STEP_TEXT
  Describe describe_settings;

  constexpr StepKindOf(std::string_view name, StepFunction function, Describe says = nullptr)
      : StepKind{function, name, says == nullptr ? nullptr : &write_settings}, describe_settings(says) {}

 private:
  static void write_settings(const StepKind& kind, const void* settings, SettingsText& text) {
    static_cast<const StepKindOf&>(kind).describe_settings(*static_cast<const Settings*>(settings), text);
  }
#else
  constexpr StepKindOf(std::string_view, StepFunction function, Describe = nullptr) : StepKind{function} {}
#endif
};

struct NoSettings {};

// Elements are float32 unless the kind's function reads others: ints().
struct Step {
  const StepKind* kind;
  float* const* buffers;  // in the order they were emitted
  const void* settings;
  kernels::Range part;  // of the Split's units; all of them, unless the program is for several threads

  void run(const StepContext& context) const { kind->run(*this, context); }

  template <typename Settings>
  const Settings& as() const {
    return *static_cast<const Settings*>(settings);
  }
  // The first kCount buffers, to be taken apart: const auto& [x, y] = step.take<2>();
  template <size_t kCount>
  auto take() const -> float* const (&)[kCount] {
    return *reinterpret_cast<float* const(*)[kCount]>(buffers);
  }
  // The same where units are elements: each buffer from the part's first element on; null stays null.
  template <size_t kCount>
  std::array<float*, kCount> slice() const {
    std::array<float*, kCount> from;
    for (size_t i = 0; i < kCount; ++i) from[i] = buffers[i] == nullptr ? nullptr : buffers[i] + part.begin;
    return from;
  }
  int32_t* ints(size_t i) const { return reinterpret_cast<int32_t*>(buffers[i]); }
};

}  // namespace coterie
