// An example has the values of another, of one feature, and its own of the others.
#include "device_sdk/runtime/permuted_inputs.h"

#include <gmock/gmock.h>

#include <array>

namespace coterie::test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kExamples = 5, kValues = 3;

// Example i is {i, 10 + i, 20 + i}.
PermutedInputs inputs_with(uint64_t seed) {
  PermutedInputs inputs(kExamples, kValues, seed);
  for (uint64_t i = 0; i < kExamples; ++i) {
    for (uint64_t value = 0; value < kValues; ++value) inputs.kept(i)[value] = static_cast<float>(10 * value + i);
  }
  return inputs;
}

// What all examples have at the places [first, first + count), the others as they are.
std::vector<std::array<float, kValues>> all_of(const PermutedInputs& inputs, uint64_t first, uint64_t count) {
  std::vector<std::array<float, kValues>> all;
  for (uint64_t i = 0; i < kExamples; ++i) {
    std::array<float, kValues>& input = all.emplace_back();
    for (uint64_t value = 0; value < kValues; ++value) input[value] = static_cast<float>(10 * value + i);
    inputs.permute(i, first, count, input);
  }
  return all;
}

TEST(PermutedInputs, DealOutOneFeatureAndLeaveTheOthers) {
  PermutedInputs inputs = inputs_with(3);
  EXPECT_EQ(all_of(inputs, 0, 3)[4], (std::array<float, 3>{4, 14, 24})) << "nothing was shuffled yet";
  inputs.shuffle();
  std::vector<float> dealt;
  bool has_moved = false;
  const auto all = all_of(inputs, 1, 2);
  for (uint64_t i = 0; i < kExamples; ++i) {
    EXPECT_EQ(all[i][0], static_cast<float>(i));
    EXPECT_EQ(all[i][2], all[i][1] + 10) << "values of a feature move together";
    has_moved |= all[i][1] != static_cast<float>(10 + i);
    dealt.push_back(all[i][1]);
  }
  EXPECT_TRUE(has_moved);
  EXPECT_THAT(dealt, UnorderedElementsAre(10, 11, 12, 13, 14)) << "each value once";
}

TEST(PermutedInputs, AreTheSameForTheSameSeedWhateverIsRead) {
  PermutedInputs one = inputs_with(3), two = inputs_with(3), other = inputs_with(4);
  bool differs = false;
  for (int i = 0; i < 4; ++i) {
    one.shuffle(), two.shuffle(), other.shuffle();
    EXPECT_EQ(all_of(one, 0, 3), all_of(two, 0, 3));
    EXPECT_EQ(all_of(one, 0, 1)[2][0], all_of(one, 0, 3)[2][0]);
    differs |= all_of(one, 0, 3) != all_of(other, 0, 3);
  }
  EXPECT_TRUE(differs);
}

TEST(PermutedInputs, OfOneExampleAreItsOwn) {
  PermutedInputs inputs(1, 2, 7);
  inputs.kept(0)[0] = 5, inputs.kept(0)[1] = 6;
  inputs.shuffle();
  std::array<float, 2> input = {};
  inputs.permute(0, 0, 2, input);
  EXPECT_THAT(input, ElementsAre(5, 6));
}

}  // namespace
}  // namespace coterie::test
