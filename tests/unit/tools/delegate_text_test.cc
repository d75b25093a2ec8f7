// What is told of a model of which a delegate computes a part.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/matchers.h"
#include "tools/delegate/report_text.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTooSmall = "its part of 2 would save about 6.8 us, and its border costs 30 us";

// One of the cnn's nine ops is computed, six have no kernel there, and two would not pay.
DelegateReport some_report(size_t ops) {
  DelegateReport report{.traits = {.name = "gpu", .version = std::string(60, 'v')}, .flops = 200};
  PlannedPart part{.ops = {2}, .flops = 150, .input_bytes = 100'352, .output_bytes = 1'280};
  report.parts.push_back({.plan = part, .verified = VerifiedPart{}});
  for (uint32_t op = 0; op < ops; ++op) {
    if (op != 2) report.own.push_back({op, op < 2 ? kTooSmall : "gpu has no kernel \x1b of it"});
  }
  return report;
}

Model cnn() { return *Model::load(*make_model(ModelKind::cnn, {8, 8, 1}, 10, 1)); }

TEST(DelegateText, SaysEachReasonOnceInEightyColumns) {
  const Model model = cnn();
  const DelegateReport report = some_report(model.graph().ops.size());
  const std::string text = delegate_text(model, report);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, HasSubstr("computes 1 of 9 ops, 75.0 % of the operations\n"));
  EXPECT_THAT(text, HasSubstr("part 1: differs by 0, bound 0, largest value 0\n"));
  EXPECT_THAT(text, HasSubstr("\n\n(1) " + std::string(kTooSmall) + "\n(2) gpu has no kernel "));
  EXPECT_EQ(text.find(kTooSmall), text.rfind(kTooSmall));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(DelegateText, OfAPartThatWasRefusedSaysWhy) {
  const Model model = cnn();
  DelegateReport report = some_report(model.graph().ops.size());
  report.parts[0].refusal = "op conv2: 3 where our kernels have 2";
  report.parts[0].verified.reset();
  EXPECT_THAT(delegate_text(model, report), HasSubstr("part 1: refused: op conv2: 3 where our kernels have 2\n"));
  EXPECT_THAT(delegate_summary(model, report), HasSubstr("computes 0 of 9 ops, 0.0 % of the operations"));
  const nlohmann::json json = delegate_json(model, report);
  EXPECT_EQ(json["parts"][0]["refusal"], "op conv2: 3 where our kernels have 2");
  EXPECT_EQ(json["ops"][0]["reason"], kTooSmall);
  EXPECT_EQ(json["ops"].size(), 9u);
}

TEST(DelegateText, OfATrainingHasTheGradientsAndEachBatchSize) {
  const Model model = cnn();
  DelegateReport report = some_report(model.graph().ops.size());
  report.parts[0].gradients = VerifiedPart{.difference = 0.5, .bound = 2, .largest = 400};
  DelegateReport rest = some_report(model.graph().ops.size());
  rest.parts[0].refusal = "in backward: it has thrown: \x1b";
  const std::vector<TrainingDelegation::Batch> batches = {{32, report}, {16, report}, {7, rest}};
  const std::string text = training_delegate_text(model, batches);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, HasSubstr("batches of 32:\n"));
  EXPECT_THAT(text, HasSubstr("\n  gradients by 0.5 in norm, bound 2, norm 400\n"));
  EXPECT_THAT(text, HasSubstr("\nbatches of 7:\n"));
  EXPECT_THAT(text, HasSubstr("\npart 1: refused: in backward: it has thrown: "));
  const std::string_view same = std::string_view(text).substr(text.find("batches of 16:"));
  EXPECT_LT(same.find("batches of 7:"), same.find("WHERE")) << "what is as it was is not said again";
  EXPECT_THAT(text, HasSubstr(") its part was refused\n")) << "what is not has its reasons";
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const nlohmann::json json = training_delegate_json(model, batches);
  EXPECT_EQ(json[0]["parts"][0]["gradients"]["norm"], 400.0);
  EXPECT_EQ(json[2]["batch"], 7);
  EXPECT_EQ(json[2]["delegated_flops"], 0.0);
}

}  // namespace
}  // namespace coterie::test
