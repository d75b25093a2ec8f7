// What devices found of columns, for people.
#include "tools/admin/importance_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

json estimate(double value, double reach) {
  return {{"value", value}, {"low", value - reach}, {"high", value + reach}};
}

json column(const std::string& name, json loss, json errors) {
  return {{"name", name}, {"loss_rise", std::move(loss)}, {"error_rise", std::move(errors)}};
}

json model() {
  return {{"importance",
           {{"repeats", 5},
            {"columns",
             {column("noise", estimate(-0.001, 0.004), estimate(0, 0.01)),
              column("age, \x1b[31m in years and months", estimate(0.4, 0.1), estimate(0.125, 0.02)),
              column("unread", {{"value", 0}, {"low", nullptr}, {"high", nullptr}}, nullptr),
              column("half", estimate(0.2, 0.01), estimate(0.05, 0.01)), column("none", nullptr, nullptr)}}}}};
}

TEST(ImportanceReport, HasTheStrongestColumnFirstWithItsIntervalAndABar) {
  EXPECT_EQ(importance_text(model()), R"(
PERMUTED          LOSS RISES BY             POINTS MORE WRONG
age, ?[31m in ..  0.400 (0.300 to 0.500)    12.5 (10.5 to 14.5)  ##########
half              0.200 (0.190 to 0.210)    5.0 (4.0 to 6.0)     #####
unread            0.000                     -
noise             -0.001 (-0.005 to 0.003)  0.0 (-1.0 to 1.0)
none              -                         -
)");
}

TEST(ImportanceReport, HasLinesOfEightyColumnsWhateverTheNumbers) {
  json wide = model();
  for (json& one : wide["importance"]["columns"]) {
    one["loss_rise"] = {{"value", 15.9999}, {"low", -16}, {"high", 16}};
    one["error_rise"] = {{"value", -0.999}, {"low", -1}, {"high", 1}};
  }
  std::istringstream text(importance_text(wide));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(ImportanceReport, IsATableForPrograms) {
  const std::string csv = importance_csv(model());
  EXPECT_THAT(csv, StartsWith("column,loss_rise,loss_rise_low,loss_rise_high,error_rise,error_rise_low,"
                              "error_rise_high\n\"age, \x1b[31m in years and months\",0.4,0.3"));
  EXPECT_THAT(csv, HasSubstr("\n\"unread\",0,,,,,\n"));
}

TEST(ImportanceReport, IsDrawnWithWhatIsBelowNothing) {
  const std::string svg = draw_importance(model());
  EXPECT_THAT(svg, StartsWith("<svg"));
  EXPECT_THAT(svg, HasSubstr("half: 0.2"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find('\x1b'), std::string::npos);
}

// A server may answer anything.
TEST(ImportanceReport, OfOtherAnswersIsNothing) {
  for (const json& other : {json(), json(3), json::array(), json::object(), json{{"importance", 3}},
                            json{{"importance", {{"columns", "age"}}}}}) {
    EXPECT_FALSE(has_importance(other)) << other;
    EXPECT_EQ(importance_text(other), "");
    EXPECT_THAT(draw_importance(other), StartsWith("<svg"));
  }
  EXPECT_THAT(importance_text({{"importance", {{"columns", {3, json::object(), {{"name", 4}}}}}}}), HasSubstr("-"));
}

}  // namespace
}  // namespace coterie
