#include "tools/admin/evaluation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json group(const std::string& name, double value) {
  return {{"name", name},
          {"devices", 12345678},
          {"examples", 1234567},
          {"accuracy", {{"value", value}, {"low", value - 0.01}, {"high", 1}}},
          {"loss", {{"value", 12.3456}, {"low", 10.5}, {"high", 16}}}};
}

json answer(size_t classes) {
  json model = group("", 0.9);
  model["model"] = std::string(64, 'a');
  model["groups"] = {group("a\x1b[31m group with a long name", 0.5), group("other", 1)};
  model["groups"][1]["accuracy"] = nullptr;
  model["auc"] = {{{"class", "yes\x1b"}, {"low", 0.75}, {"high", 0.7512}}};
  model["confusion"] = json::array();
  json names = json::array();
  for (size_t c = 0; c < classes; ++c) {
    names.push_back("class number " + std::to_string(c));
    model["confusion"].push_back(std::vector<double>(classes + 1, 1234567));
  }
  model["devices_by_accuracy"] = std::vector<double>(20, 0.0);
  model["devices_by_accuracy"][17] = 30;
  model["worst_tenth"] = {{"from", 0.85}, {"to", 0.9}};
  return {{"schema", "coterie.evaluation_result.v1"},
          {"column", std::string(100, 'c')},
          {"rounds", 2},
          {"updates", 8},
          {"classes", names},
          {"models", {model, model}},
          {"comparison", {{"verdict", "worse"}, {"devices", 8}, {"harm", 0.0312}, {"low", 0.001}, {"high", 0.0625}}}};
}

TEST(EvaluationReport, IsForPeople) {
  for (const size_t classes : {2, 5, 64}) {
    const auto text = evaluation_text(answer(classes));
    ASSERT_OK(text);
    EXPECT_THAT(*text, HasSubstr("8 updates in 2 rounds; intervals hold in 95 of 100 cases"));
    EXPECT_THAT(*text, HasSubstr("90.0 % (89.0 to 100.0)  12.35 (10.50 to 16.00)"));
    EXPECT_THAT(*text, HasSubstr("area under the curve of yes?: 0.7500 to 0.7512"));
    EXPECT_THAT(*text, HasSubstr("85 to 90 % right   30  ####################"));
    EXPECT_THAT(
        *text, HasSubstr("the new model is worse, by 8 devices\nloses 3.12 points of accuracy a device; 0.10 to 6.25"));
    EXPECT_EQ(text->find("AS 0") == std::string::npos, classes > 5) << "a wider table has more than 80 columns";
    EXPECT_THAT(*text, Not(HasSubstr("\x1b")));
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
  json other = answer(2);
  other["comparison"]["verdict"] = "not_shown";
  EXPECT_THAT(*evaluation_text(other), HasSubstr("is not shown to be worse, nor better"));
  other["schema"] = "other";
  EXPECT_FALSE(is_evaluation(other));
  EXPECT_ERROR(evaluation_text(other), ErrorCode::malformed, "coterie.evaluation_result.v1");
  EXPECT_OK(evaluation_text({{"schema", "coterie.evaluation_result.v1"}, {"models", {1, "x"}}}));
}

}  // namespace
}  // namespace coterie
