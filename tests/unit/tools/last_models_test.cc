// The mean of the last models: by hand, with what must stay as it is.
#include "tools/simulate/last_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

Bytes lenet(uint64_t seed) { return *make_model(ModelKind::lenet5, {12, 12, 1}, 10, seed); }

std::vector<float> values_of(const Bytes& file) {
  const Model model = *Model::load(file);
  return {model.parameters().begin(), model.parameters().end()};
}

TEST(LastModels, AreAveragedValueByValue) {
  LastModels last(2);
  last.add(lenet(1));
  last.add(lenet(2));
  last.add(lenet(3));  // the first is out of it
  const std::vector<float> second = values_of(lenet(2)), third = values_of(lenet(3)), mean = values_of(*last.mean());
  ASSERT_EQ(mean.size(), second.size());
  size_t between = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    ASSERT_EQ(mean[i], static_cast<float>((static_cast<double>(second[i]) + static_cast<double>(third[i])) / 2)) << i;
    between += second[i] != third[i] && mean[i] != second[i] && mean[i] != third[i];
  }
  EXPECT_GT(between, mean.size() / 2);
}

// A bias of six values is padded to sixteen: a file with anything but 0 there does not load.
TEST(LastModels, LeavePaddingAsItIs) {
  LastModels last(3);
  for (const uint64_t seed : {1u, 2u, 3u}) last.add(lenet(seed));
  EXPECT_OK(Model::load(*last.mean()));
}

TEST(LastModels, OfFewerAreTheMeanOfThose) {
  LastModels last(100);
  last.add(lenet(1));
  EXPECT_EQ(*last.mean(), lenet(1)) << "one model comes back with its own bytes";
  last.add(lenet(1));
  EXPECT_EQ(values_of(*last.mean()), values_of(lenet(1)));
}

TEST(LastModels, OfOtherSizesAreRefused) {
  LastModels last(2);
  last.add(lenet(1));
  last.add(*make_model(ModelKind::mlp, {12, 12, 1}, 10, 1));
  EXPECT_EQ(last.mean().error().code(), ErrorCode::malformed);
}

}  // namespace
}  // namespace coterie::test
