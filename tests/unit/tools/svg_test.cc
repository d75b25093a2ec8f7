#include "tools/demo/svg.h"

#include <gmock/gmock.h>

#include "tests/unit/tools/strict_xml.h"

namespace coterie {
namespace {

using test::read_xml;
using test::Xml;
using testing::ElementsAre;

TEST(StrictXml, RefusesWhatIsNotWellFormed) {
  EXPECT_EQ(read_xml("<a b=\"1\"><c/>x &amp; y</a>\n").error, "");
  for (const char* text : {"", "x", "<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>",
                           "<a>&nbsp;</a>", "<a b=\"<\"/>", "<a b=\"&\"/>", "<a><b></a></b>", "<a>\x01</a>", "<a/>x"}) {
    EXPECT_NE(read_xml(text).error, "") << text;
  }
}

TEST(Svg, EscapesEverythingThatASentenceMayHold) {
  const std::string nasty = "<b>&\"'\x01\n\xc3\xa9]]>";
  Svg svg;
  svg.text("soft", {1, 2}, nasty);
  svg.rectangle("main", {0, 0}, 1, 1, 0, 1, nasty);
  const Xml xml = read_xml(svg.document(10, 20, "text { fill: #000; }\n", nasty, nasty));
  ASSERT_EQ(xml.error, "");
  const std::string told = "<b>&\"'??\xc3\xa9]]>";
  EXPECT_EQ(xml.named("text")[0].text, told);
  for (const auto& title : xml.named("title")) EXPECT_EQ(title.text, told);
  EXPECT_EQ(xml.named("title").size(), 2u);
  EXPECT_EQ(xml.named("desc")[0].text, told);
}

TEST(Svg, DrawsEachShapeWithItsClassAndPlace) {
  Svg svg;
  svg.line("rule", {1, 2}, {3, 4.5});
  svg.path("curve", {{0, 0}, {1, -1}});
  svg.circle("dot", {5, 6}, 2);
  svg.rectangle("main", {7, 8}, 9, 10, 2, 0.5);
  svg.text("soft", {1, 1}, "end", Anchor::end);
  const Xml xml = read_xml(svg.document(100, 50, "", "t", "d"));
  ASSERT_EQ(xml.error, "");
  EXPECT_EQ(xml.elements[0].name, "svg");
  EXPECT_EQ(xml.elements[0].attributes.at("viewBox"), "0 0 100 50");
  EXPECT_EQ(xml.elements[0].attributes.at("xmlns"), "http://www.w3.org/2000/svg");
  EXPECT_EQ(xml.named("line")[0].attributes.at("y2"), "4.5");
  EXPECT_EQ(xml.named("polyline")[0].attributes.at("points"), "0,0 1,-1");
  EXPECT_EQ(xml.named("circle")[0].attributes.at("class"), "dot");
  EXPECT_EQ(xml.named("rect")[0].attributes.at("fill-opacity"), "0.5");
  EXPECT_EQ(xml.named("text")[0].attributes.at("text-anchor"), "end");
}

TEST(Svg, WritesNumbersAsShortAsTheyAre) {
  EXPECT_EQ(svg_number(12), "12");
  EXPECT_EQ(svg_number(12.5), "12.5");
  EXPECT_EQ(svg_number(100), "100");
  EXPECT_EQ(svg_number(-0.25), "-0.25");
  EXPECT_EQ(svg_number(1.0 / 3), "0.33");
  EXPECT_EQ(svg_number(-0.001), "0");
}

}  // namespace
}  // namespace coterie
