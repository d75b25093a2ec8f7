#include "fl_server/store/s3/xml.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie::s3 {
namespace {

TEST(Xml, ReadsElementsTextsAndReferences) {
  const Result<XmlElement> root = parse_xml(
      "\n  <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a xmlns='http://x' b=\"c\"><b> x "
      "&lt;&amp;&gt;&quot;&apos; </b><c/>"
      "<c >2</c ><d>&#65;&#x20AC;&#x1F600;&#xe9;</d></a>\n");
  ASSERT_OK(root);
  EXPECT_EQ(root->name, "a");
  EXPECT_EQ(root->children.size(), 4u);
  EXPECT_EQ(root->child_text("b"), " x <&>\"' ");
  EXPECT_EQ(root->child_text("c"), "") << "the first of two";
  EXPECT_EQ(root->children[2].text, "2");
  EXPECT_EQ(root->child_text("d"), "A\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
  EXPECT_EQ(root->child("e"), nullptr);
  EXPECT_EQ(root->child_text("e"), "");
}

TEST(Xml, RefusesWhatIsNotWellFormedOrNotNeeded) {
  for (const char* bad : {"",
                          " ",
                          "x",
                          "<",
                          "<a",
                          "<a>",
                          "<a><b></a></b>",
                          "<a></b>",
                          "<a/><b/>",
                          "<a/>x",
                          "<a>&x;</a>",
                          "<a>&amp</a>",
                          "<a>&#0;</a>",
                          "<a>&#xd800;</a>",
                          "<a>&#x110000;</a>",
                          "<a>&#;</a>",
                          "<a>&#-1;</a>",
                          "<a b></a>",
                          "<a b=c/>",
                          "<a b='c/>",
                          "<a b='<'/>",
                          "<a b='c'd='e'/>",
                          "<a/ >",
                          "<!DOCTYPE a><a/>",
                          "<a><!-- x --></a>",
                          "<a><![CDATA[x]]></a>",
                          "<a><?x?></a>",
                          "<?xml version='1.0'",
                          "</a>",
                          "<a></a",
                          "< a/>"}) {
    EXPECT_ERROR(parse_xml(bad), ErrorCode::malformed, "XML: ") << bad;
  }
}

TEST(Xml, HasLimits) {
  std::string deep, ends;
  for (size_t i = 0; i < kXmlDepthMax; ++i) {
    deep += "<a>";
    ends += "</a>";
  }
  EXPECT_OK(parse_xml(deep + ends));
  EXPECT_ERROR(parse_xml(deep + "<a/>" + ends), ErrorCode::too_large, "deep");
  std::string many = "<a>";
  for (size_t i = 1; i < kXmlElementsMax; ++i) many += "<b/>";
  EXPECT_OK(parse_xml(many + "</a>"));
  EXPECT_ERROR(parse_xml(many + "<b/></a>"), ErrorCode::too_large, "elements");
  EXPECT_ERROR(parse_xml(std::string(kXmlBytesMax + 1, ' ')), ErrorCode::too_large, "bytes");
}

TEST(Xml, ReadsBackWhatItEscapes) {
  const std::string text = "\"<a>&amp;'";
  const Result<XmlElement> root = parse_xml("<a>" + xml_escaped(text) + "</a>");
  ASSERT_OK(root);
  EXPECT_EQ(root->text, text);
}

}  // namespace
}  // namespace coterie::s3
