#include "tools/demo/chart.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/tools/strict_xml.h"

namespace coterie {
namespace {

using test::read_xml;
using test::Xml;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ChartData sample(size_t rounds, size_t devices) {
  ChartData data;
  data.title = "cnn on digits";
  data.subtitle = "all of it";
  for (size_t i = 0; i <= rounds; ++i) {
    data.rounds.push_back({.number = i,
                           .accuracy = 0.1 + 0.8 * static_cast<double>(i) / static_cast<double>(rounds),
                           .held_out_loss = 2.0 / static_cast<double>(i + 1),
                           .training_loss = i == 0 ? std::optional<double>() : 1.5 / static_cast<double>(i + 1)});
  }
  for (size_t device = 0; device < devices; ++device) {
    data.label_counts.push_back({static_cast<uint32_t>(device), 3, 0});
    data.rounds_trained.push_back(static_cast<uint32_t>(device % 4));
  }
  return data;
}

// Draws, and expects what holds for every chart: strict XML, only numbers, everything on the paper.
Xml drawn(const ChartData& data) {
  const std::string text = draw_chart(data);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")), Not(HasSubstr("\"-0\""))));
  Xml xml = read_xml(text);
  EXPECT_EQ(xml.error, "");
  const double width = std::stod(xml.elements.at(0).attributes.at("width"));
  const double height = std::stod(xml.elements.at(0).attributes.at("height"));
  for (const auto& element : xml.elements) {
    if (element.name == "text" || element.name == "circle") {
      const char* const x = element.name == "text" ? "x" : "cx";
      const char* const y = element.name == "text" ? "y" : "cy";
      EXPECT_GE(std::stod(element.attributes.at(x)), 0) << element.text;
      EXPECT_LE(std::stod(element.attributes.at(x)), width) << element.text;
      EXPECT_GE(std::stod(element.attributes.at(y)), 0) << element.text;
      EXPECT_LE(std::stod(element.attributes.at(y)), height) << element.text;
    }
  }
  return xml;
}

std::vector<std::string> words(const Xml& xml) {
  std::vector<std::string> texts;
  for (const auto& element : xml.named("text")) texts.push_back(element.text);
  return texts;
}

size_t count_class(const Xml& xml, const std::string& name) {
  size_t count = 0;
  for (const auto& element : xml.elements) {
    const auto found = element.attributes.find("class");
    count += found != element.attributes.end() && found->second == name ? 1 : 0;
  }
  return count;
}

TEST(Chart, SaysWhatItShows) {
  const Xml xml = drawn(sample(40, 20));
  for (const char* text : {"cnn on digits", "all of it", "Accuracy on held-out examples", "Loss (cross entropy)",
                           "90.0 %", "held-out", "training", "round", "label", "device", "0 %", "100 %", "40", "20"}) {
    EXPECT_THAT(words(xml), Contains(text)) << text;
  }
}

TEST(Chart, DrawsACellForEachLabelOfEachDeviceAndABarForEachDevice) {
  const Xml xml = drawn(sample(5, 20));
  EXPECT_EQ(count_class(xml, "empty"), 60u);
  EXPECT_EQ(count_class(xml, "main") - 1, 39u);  // what is there, and the word at the curve's end
  EXPECT_EQ(count_class(xml, "bar"), 20u);
  std::vector<std::string> titles;
  for (const auto& title : xml.named("title")) titles.push_back(title.text);
  EXPECT_THAT(titles, Contains("device 20, label 0: 19"));
  EXPECT_THAT(titles, Contains("device 4: 3 rounds"));
}

TEST(Chart, ShowsTheFirstOfTooManyDevicesAndSaysSo) {
  const Xml xml = drawn(sample(5, 500));
  EXPECT_EQ(count_class(xml, "bar"), 120u);
  EXPECT_THAT(words(xml), Contains(HasSubstr("(the first 120 of 500)")));
}

TEST(Chart, HoldsWithOneRoundOneDeviceOrNothingAtAll) {
  drawn(sample(1, 1));
  ChartData nothing;
  EXPECT_EQ(count_class(drawn(nothing), "curve"), 0u);
  nothing.rounds.push_back({.number = 0, .accuracy = {}, .held_out_loss = {}, .training_loss = {}});
  drawn(nothing);
}

TEST(Chart, InterruptsTheCurveWhereThereIsNoNumber) {
  ChartData data = sample(6, 2);
  data.rounds[2].accuracy = std::nullopt;
  data.rounds[4].accuracy = kNaN;
  data.rounds[3].held_out_loss = kInfinity;
  data.rounds[6].training_loss = -kInfinity;
  EXPECT_EQ(count_class(drawn(data), "curve"), 3u + 2u);
}

TEST(Chart, HoldsWhereEveryLossIsInfinite) {
  ChartData data = sample(3, 2);
  for (ChartRound& round : data.rounds) round.held_out_loss = round.training_loss = kInfinity;
  EXPECT_EQ(count_class(drawn(data), "curve"), 1u);
}

TEST(Chart, HoldsWithLossesFromTinyToHuge) {
  for (const double scale : {1e-300, 1e-9, 1e9, 1e300}) {
    ChartData data = sample(3, 2);
    for (ChartRound& round : data.rounds) round.held_out_loss = *round.held_out_loss * scale;
    drawn(data);
  }
}

}  // namespace
}  // namespace coterie
