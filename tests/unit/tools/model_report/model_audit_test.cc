// An audit: what it reads, and what it leaves out and why.
#include <gmock/gmock.h>

#include "device_sdk/runtime/dataset_source.h"
#include "tests/unit/tools/explain/planted_models.h"
#include "tools/model_report/model_audit.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

// The examples are of the fixture, which counts; the header is that of a file with so many classes.
class Audit : public ::testing::Test {
 protected:
  Result<ModelAudit> audited(const AuditSettings& settings, uint32_t classes = 2,
                             std::optional<InputContract> contract = std::nullopt) {
    const std::vector<int32_t> labels(examples_.size());
    const Result<DatasetSource> source = DatasetSource::load(
        encode_dataset(labelled_dataset("planted", examples_.size(), {8}, classes), examples_.values(), labels));
    EXPECT_OK(source);
    return audit_model(planted_sum({8}, 2, 5), *source, examples_, std::move(contract), std::nullopt, settings);
  }
  Examples examples_{70, 8, 2};
};

TEST_F(Audit, ReadsEachExampleOnceForAllFigures) {
  const Result<ModelAudit> audit = audited({.explained = 1});
  ASSERT_OK(audit);
  ASSERT_EQ(audit->disturbances.size(), 4u);
  ASSERT_EQ(audit->column_shifts.size(), 8u);
  ASSERT_TRUE(audit->adversarial);
  // Disturbed; columns' deviations, and each up and down; the attack's examples, their gradients, and four steps twice.
  EXPECT_EQ(examples_.reads().back(), 1u + 4 + 1 + 16 + 2 + 8);
  ASSERT_TRUE(audit->classes);
  EXPECT_EQ(audit->classes->examples(), examples_.size());
  uint64_t correct = 0;
  for (const ClassScore& each : audit->classes->classes()) correct += each.correct;
  EXPECT_DOUBLE_EQ(audit->evaluation.accuracy, static_cast<double>(correct) / static_cast<double>(examples_.size()));
}

TEST_F(Audit, LeavesOutWhatCannotBeExplained) {
  const Result<ModelAudit> of_images = audited({.explained = 2, .method = "grad_cam"});
  ASSERT_OK(of_images);
  EXPECT_TRUE(of_images->explanations.empty());
  EXPECT_FALSE(of_images->checks);
  EXPECT_THAT(of_images->not_explained, HasSubstr("images"));
  EXPECT_EQ(of_images->disturbances.size(), 4u) << "the other parts are there";
  for (uint64_t i = 0; i < examples_.size(); ++i) examples_.set_label(i, 1);
  const Result<ModelAudit> none = audited({}, 1);
  ASSERT_OK(none);
  EXPECT_FALSE(none->checks);
  EXPECT_THAT(none->not_explained, HasSubstr("no example has one of the data's classes"));
  examples_.set_feature(0, 3, std::nanf(""));
  const Result<ModelAudit> broken = audited({.explained = 1});
  ASSERT_OK(broken);
  EXPECT_THAT(broken->not_explained, HasSubstr("example 0, method integrated_gradients"));
}

TEST_F(Audit, JudgesByGroup) {
  std::vector<std::string> values;
  for (uint64_t i = 0; i < examples_.size(); ++i) values.emplace_back(i % 3 == 0 ? "a" : "b");
  AuditSettings settings{.explained = 1, .groups = make_groups("which", values, 1)};
  const Result<ModelAudit> audit = audited(settings);
  ASSERT_OK(audit);
  ASSERT_TRUE(audit->fairness);
  EXPECT_EQ(audit->fairness->positive, 1u) << "of two classes the second";
  uint64_t correct = 0, selected = 0;
  for (const GroupScore& group : audit->fairness->groups) {
    correct += group.correct.count;
    selected += group.selection.count;
  }
  EXPECT_EQ(audit->fairness->groups[0].examples, 24u);
  EXPECT_DOUBLE_EQ(audit->evaluation.accuracy, static_cast<double>(correct) / static_cast<double>(examples_.size()));
  EXPECT_EQ(selected, audit->classes->classes()[1].predicted);
  settings.positive = "0";
  EXPECT_EQ(audited(settings)->fairness->positive, 0u);
  settings.positive = "2";
  EXPECT_THAT(audited(settings).error().message(), HasSubstr("there is no class \"2\" to be the positive one"));
  values.pop_back();
  settings.groups = make_groups("which", values, 1);
  EXPECT_THAT(audited(settings).error().message(), HasSubstr("groups for 69 examples, but 70 to judge"));
}

TEST_F(Audit, APositiveClassIsANameBeforeItIsANumber) {
  InputContract contract;
  contract.target.classes = {"1", "0"};
  AuditSettings settings{.explained = 1,
                         .groups = make_groups("which", std::vector<std::string>(examples_.size(), "a"), 1),
                         .positive = "0"};
  const Result<ModelAudit> audit = audited(settings, 2, contract);
  ASSERT_OK(audit);
  EXPECT_EQ(audit->fairness->positive, 1u);
}

TEST_F(Audit, EndsWhereItIsTold) {
  const auto enough = []() -> Status { return Error(ErrorCode::cancelled, "enough"); };
  const Result<ModelAudit> audit = audited({.go_on = enough});
  ASSERT_FALSE(audit);
  EXPECT_EQ(audit.error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace coterie::test
