// What Program::steps() tells of a program: kinds, operands, types and places (program_steps.cc).
#include <gtest/gtest.h>

#include "device_sdk/runtime/program.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

struct Factor {
  float factor;
};
void run_scale(const Step& step, const StepContext&) {
  const auto [x, y] = step.slice<2>();
  for (size_t i = 0; i < step.part.size(); ++i) y[i] = x[i] * step.as<Factor>().factor;
}
void describe_factor(const Factor& settings, SettingsText& text) {
  text.add("by", static_cast<double>(settings.factor));
}
constexpr StepKindOf<Factor> kScaleStep{"scale", run_scale, describe_factor};

void run_nothing(const Step&, const StepContext&) {}
constexpr StepKindOf<NoSettings> kNothingStep{"nothing", run_nothing};

constexpr uint64_t kCount = 100, kBytes = kCount * sizeof(float);

TEST(ProgramSteps, ToldInTheOrderTheyRun) {
  Program program;
  const BufferId x = program.add_planned(kBytes), y = program.add_planned(kBytes), z = program.add_planned(kBytes);
  program.fill_before(x);
  program.set_origin(7);
  program.emit(Phase::backward, kNothingStep, {}, {y, kNoBuffer, z});
  program.emit(Phase::forward, kScaleStep, {0.5f}, {x, y});
  const std::vector<StepInfo> steps = program.steps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].phase, Phase::forward);
  EXPECT_EQ(steps[1].phase, Phase::backward);
  EXPECT_EQ(steps[0].origin, 7u);
  EXPECT_EQ(steps[1].operands.size(), 2u);  // one is absent
  EXPECT_EQ(steps[0].bytes(), 2 * kBytes);
#ifndef COTERIE_NO_STEP_TEXT
  EXPECT_EQ(steps[0].name, "scale");
  EXPECT_EQ(steps[0].settings, "by 0.5");
  EXPECT_EQ(steps[1].settings, "");
#endif
}

TEST(ProgramSteps, MakeWhatNoneInFrontNames) {
  Program program;
  const BufferId x = program.add_planned(kBytes), y = program.add_planned(kBytes), z = program.add_planned(kBytes);
  const BufferId fixed = program.add_fixed(Region::parameters, 64);
  program.fill_before(x);
  program.emit(Phase::forward, kNothingStep, {}, {x, fixed, y});
  program.emit(Phase::forward, kNothingStep, {}, {y, z});
  const std::vector<StepInfo> steps = program.steps();
  const auto made = [&](size_t step, size_t operand) { return steps[step].operands[operand].is_made; };
  EXPECT_FALSE(made(0, 0));  // the caller fills it
  EXPECT_FALSE(made(0, 1));  // it was there
  EXPECT_TRUE(made(0, 2));
  EXPECT_FALSE(made(1, 0));
  EXPECT_TRUE(made(1, 1));
  EXPECT_EQ(steps[0].operands[1].place, BufferPlace::fixed);
  EXPECT_EQ(steps[0].operands[1].offset, 64u);
}

TEST(ProgramSteps, SayTheTypesOfTheirOperands) {
  Program program;
  const BufferId labels = program.add_planned(kBytes), sums = program.add_planned(kBytes);
  program.holds(labels, {.type = ElementType::int32, .role = BufferRole::target});
  program.holds(sums, {.type = ElementType::float64});
  program.emit(Phase::forward, kNothingStep, {}, {labels, sums});
  const std::vector<OperandInfo> operands = program.steps()[0].operands;
  EXPECT_EQ(operands[0].content.type, ElementType::int32);
  EXPECT_EQ(operands[0].content.elements, kCount);
  EXPECT_EQ(operands[1].content.elements, kCount / 2);
  EXPECT_EQ(operands[1].bytes, kBytes);
}

TEST(ProgramSteps, WhatIsHeldAsBfloat16HasItsType) {
  Program program;
  const BufferId x = program.add_planned(kBytes), y = program.add_planned(kBytes), z = program.add_planned(kBytes);
  program.fill_before(x);
  program.holds(y, {.role = BufferRole::value, .tensor = 3, .elements = kCount});
  program.emit(Phase::forward, kNothingStep, {}, {x, y});
  program.emit(Phase::backward, kNothingStep, {}, {y, z});
  const BufferId held[] = {y};
  program.hold_as_bfloat16(held);
  const std::vector<StepInfo> steps = program.steps();
  ASSERT_EQ(steps.size(), 4u);
  const OperandInfo& copy = steps[1].operands[1];
  EXPECT_EQ(copy.content.type, ElementType::bfloat16);
  EXPECT_EQ(copy.content.tensor, 3u);
  EXPECT_EQ(copy.bytes, kBytes / 2);
  EXPECT_EQ(steps[2].operands[1].content.type, ElementType::float32);
}

// The functions of a chain stay named, each with its own settings.
TEST(ProgramSteps, AChainTellsItsLinks) {
  Program program;
  const BufferId x = program.add_planned(kBytes), y = program.add_planned(kBytes), z = program.add_planned(kBytes);
  program.fill_before(x);
  program.read_after(z);
  program.emit(Phase::forward, kScaleStep, {2}, {x, y}, by_elements(kCount));
  program.emit(Phase::forward, kScaleStep, {3}, {y, z}, by_elements(kCount));
  program.join_elementwise();
  const std::vector<StepInfo> steps = program.steps();
  ASSERT_EQ(steps.size(), 1u);
#ifndef COTERIE_NO_STEP_TEXT
  EXPECT_EQ(steps[0].name, "chain");
  EXPECT_EQ(steps[0].settings, "scale (by 2), scale (by 3)");
#endif
}

}  // namespace
}  // namespace coterie
