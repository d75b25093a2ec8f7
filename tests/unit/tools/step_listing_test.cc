#include "tools/model/step_listing.h"

#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "tests/support/golden.h"
#include "tests/support/matchers.h"
#include "tools/cli/model_steps.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

constexpr ModelKind kKinds[] = {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5};

StepListing listing_of(ModelKind kind, const Shape& input, uint32_t batch) {
  Result<Bytes> file = make_model(kind, input, 10, 1);
  EXPECT_OK(file);
  const Result<Model> model = Model::load(std::move(*file));
  EXPECT_OK(model);
  Result<StepListing> listing = list_steps(*model, batch);
  EXPECT_OK(listing);
  return std::move(*listing);
}

TEST(StepListing, OfAPerceptronIsAsReviewed) {
  expect_golden_text("steps/mlp.txt", steps_text(listing_of(ModelKind::mlp, {8, 8, 1}, 4)));
}

TEST(StepListing, OfAConvolutionalNetworkIsAsReviewed) {
  expect_golden_text("steps/cnn.txt", steps_text(listing_of(ModelKind::cnn, {8, 8, 1}, 4)));
}

// A name that two functions share would make a listing, a trace or a profile lie.
TEST(StepListing, NamesEveryStepOfEveryBuiltInModel) {
  for (const ModelKind kind : kKinds) {
    SCOPED_TRACE(to_string(kind));
    std::set<std::string> seen;
    for (const ListedStep& step : listing_of(kind, {28, 28, 1}, 3).steps) {
      EXPECT_FALSE(step.info.name.empty()) << step.op;
      EXPECT_FALSE(step.op.empty());
      EXPECT_FALSE(step.operands.empty());
      EXPECT_GT(step.info.bytes(), 0u);
      std::string identity = std::string(step.info.name) + " " + step.op + " " + step.info.settings;
      for (const ListedOperand& operand : step.operands) {
        EXPECT_FALSE(operand.what.empty() || operand.shape.empty());
        EXPECT_EQ(operand.info.bytes, operand.info.content.elements * size_of(operand.info.content.type));
        identity += " " + operand.what;
      }
      EXPECT_TRUE(seen.insert(identity).second) << identity;
    }
  }
}

TEST(StepListing, SaysTheTypeOfIntegers) {
  const StepListing listing = listing_of(ModelKind::mlp, {8, 8, 1}, 4);
  size_t targets = 0;
  for (const ListedStep& step : listing.steps) {
    for (const ListedOperand& operand : step.operands) {
      if (operand.what != "target") continue;
      EXPECT_EQ(step.op, "loss");
      EXPECT_EQ(operand.type, "int32");
      EXPECT_EQ(operand.shape, "4");
      ++targets;
    }
  }
  EXPECT_EQ(targets, 1u);
}

TEST(StepListing, ReadsOnlyWhatIsThere) {
  for (const ModelKind kind : kKinds) {
    for (const ListedStep& step : listing_of(kind, {28, 28, 1}, 2).steps) {
      if (step.op == "update" || step.info.phase == Phase::update) continue;  // they change what was there
      EXPECT_TRUE(std::any_of(step.operands.begin(), step.operands.end(),
                              [](const ListedOperand& operand) { return operand.info.is_made; }) ||
                  step.info.phase == Phase::prepare)
          << to_string(kind) << ": " << step.info.name << " makes nothing";
    }
  }
}

TEST(StepListing, FitsEightyColumns) {
  for (const ModelKind kind : kKinds) {
    std::istringstream lines(steps_text(listing_of(kind, {28, 28, 1}, 4096)));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

}  // namespace
}  // namespace coterie::test
