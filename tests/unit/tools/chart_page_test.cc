// The chart's page: strict XML behind its first line, every round's values in it, and nothing that its policy forbids.
#include "tools/demo/chart_page.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/bytes.h"
#include "secure/crypto/sha256.h"
#include "tests/unit/tools/strict_xml.h"
#include "tools/demo/chart.h"
#include "tools/demo/result.h"

namespace coterie {
namespace {

using test::read_xml;
using test::Xml;
using test::XmlElement;
using testing::HasSubstr;
using testing::Not;

DemoResult demo(size_t rounds) {
  DemoResult result;
  result.data_name = "</script><img src=x onerror=alert(1)> & \"more\"";
  result.before = {{.loss_mean = 2.3, .accuracy = 0.1}};
  result.label_counts = {{3, 4}, {5, 6}};
  result.rounds_trained = {1, 2};
  for (uint64_t i = 1; i <= rounds; ++i) {
    RoundReport round{.number = i, .attempt = 1, .state = "done", .selected = 2, .accepted = 2, .seconds = 0.1};
    round.evaluation_accuracy = 1.0 / 3 + 0.01 * static_cast<double>(i);
    round.evaluation_loss = 1.0 / static_cast<double>(i + 1);
    round.train_loss = i == 2 ? NAN : 0.7 / static_cast<double>(i);
    result.attempts.push_back(round);
  }
  return result;
}

Xml parsed(const std::string& page) {
  const std::string first = "<!DOCTYPE html>\n";
  EXPECT_EQ(page.substr(0, first.size()), first);
  Xml xml = read_xml(page.substr(first.size()));
  EXPECT_EQ(xml.error, "");
  return xml;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',') fields.emplace_back();
    else fields.back() += c;
  }
  return fields;
}

std::string hash_of(const std::string& text) {
  std::string base64 = to_base64url(sha256(as_bytes(text)).bytes);
  for (char& c : base64) c = c == '-' ? '+' : c == '_' ? '/' : c;
  return "'sha256-" + base64 + "='";
}

TEST(ChartPage, HasEveryPointOfMetricsCsv) {
  const DemoResult result = demo(30);
  const Xml xml = parsed(draw_chart_page(chart_of(result)));
  const std::vector<XmlElement> cells = xml.named("td");
  ASSERT_EQ(cells.size(), 3u * 31);
  std::string csv = metrics_csv(result);
  size_t row = 1;  // that of round 0 is not in metrics.csv
  for (size_t begin = csv.find('\n') + 1; begin < csv.size(); begin = csv.find('\n', begin) + 1, ++row) {
    const std::vector<std::string> fields = fields_of(csv.substr(begin, csv.find('\n', begin) - begin));
    EXPECT_EQ(cells[3 * row].text, fields[8]);
    EXPECT_EQ(cells[3 * row + 1].text, fields[7]);
    EXPECT_EQ(cells[3 * row + 2].text, fields[5]);
    EXPECT_EQ(cells[3 * row + 2].attributes.contains("data-y"), !fields[5].empty()) << row;
  }
  EXPECT_EQ(row, 31u);
}

TEST(ChartPage, MarksValuesWhereTheDrawingHasThem) {
  const DemoResult result = demo(3);
  const std::string page = draw_chart_page(chart_of(result));
  const std::vector<XmlElement> cells = parsed(page).named("td");
  const std::vector<XmlElement> dots = parsed(page).named("circle");  // the curves' ends: accuracy, training, held-out
  ASSERT_EQ(dots.size(), 3u);
  const size_t order[] = {0, 2, 1};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(dots[i].attributes.at("cx"), cells[9 + order[i]].attributes.at("data-x"));
    EXPECT_EQ(dots[i].attributes.at("cy"), cells[9 + order[i]].attributes.at("data-y"));
  }
}

TEST(ChartPage, AsksForNothingAndRunsNothingButWhatItsPolicyNames) {
  const std::string page = draw_chart_page(chart_of(demo(2)));
  const Xml xml = parsed(page);
  std::string policy;
  for (const XmlElement& element : xml.elements) {
    for (const auto& [name, value] : element.attributes) {
      EXPECT_THAT(name, Not(testing::StartsWith("on")));
      EXPECT_NE(name, "style");
      EXPECT_NE(name, "src");
      EXPECT_NE(name, "href");
      if (name == "content" && value.starts_with("default-src")) policy = value;
    }
  }
  EXPECT_THAT(policy, testing::StartsWith("default-src 'none'; style-src 'sha256-"));
  ASSERT_EQ(xml.named("style").size(), 2u);
  ASSERT_EQ(xml.named("script").size(), 1u);
  for (const char* name : {"style", "script"}) {
    for (const XmlElement& element : xml.named(name)) EXPECT_THAT(policy, HasSubstr(hash_of(element.text))) << name;
  }
  EXPECT_TRUE(xml.named("img").empty()) << "a foreign name is text";
  EXPECT_THAT(page, Not(HasSubstr("url(")));
}

TEST(ChartPage, OfNoRoundsIsAPage) { EXPECT_EQ(parsed(draw_chart_page({.title = "none"})).named("td").size(), 0u); }

}  // namespace
}  // namespace coterie
