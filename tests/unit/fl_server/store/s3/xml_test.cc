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
                          "<a>]]></a>",
                          "<a b='1' b='2'/>",
                          "<a>\xff</a>",
                          "<a>\xc0\xaf</a>",
                          "<a>\xed\xa0\x80</a>",
                          "<a>\x01</a>",
                          "</a>",
                          "<a></a",
                          "< a/>"}) {
    EXPECT_ERROR(parse_xml(bad), ErrorCode::malformed, "XML: ") << bad;
  }
}

// Laughs grow tenfold a line; the other entities would have a reader open a file or ask a stranger.
TEST(Xml, RefusesADocumentTypeBeforeAnyEntityOfItsIsDeclared) {
  std::string laughs = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY l0 'ha'>";
  for (int i = 1; i < 10; ++i) {
    laughs += "<!ENTITY l" + std::to_string(i) + " '";
    for (int j = 0; j < 10; ++j) laughs += "&l" + std::to_string(i - 1) + ";";
    laughs += "'>";
  }
  laughs += "]><a>&l9;</a>";
  for (const std::string& bad :
       {laughs, std::string("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"),
        std::string("<!DOCTYPE a SYSTEM 'http://forger.example/a.dtd'><a/>"),
        std::string("<!DOCTYPE a [<!ENTITY % x SYSTEM 'http://forger.example/a.dtd'>%x;]><a/>"),
        std::string("<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>")}) {
    EXPECT_ERROR(parse_xml(bad), ErrorCode::malformed, "a document type is not read") << bad;
  }
}

TEST(Xml, ReadsUtf8WhateverIsDeclared) {
  const Result<XmlElement> root = parse_xml("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xc3\xa9</a>");
  ASSERT_OK(root);
  EXPECT_EQ(root->text, "\xc3\xa9");
  EXPECT_ERROR(parse_xml(std::string_view("<\0a\0/\0>\0", 8)), ErrorCode::malformed, "a zero byte");
  EXPECT_ERROR(parse_xml(std::string_view("\xfe\xff\0<\0a\0/\0>", 10)), ErrorCode::malformed, "a zero byte");
}

TEST(Xml, SaysWhereInTheWholeAnswer) { EXPECT_ERROR(parse_xml("   <a><b></a>"), ErrorCode::malformed, "at byte 11"); }

TEST(Xml, NamesKeepTheirPrefix) {
  const Result<XmlElement> root = parse_xml("<s:a xmlns:s='http://x'><s:b>1</s:b></s:a>");
  ASSERT_OK(root);
  EXPECT_EQ(root->name, "s:a");
  EXPECT_EQ(root->child_text("s:b"), "1");
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
  EXPECT_OK(parse_xml("<a>" + std::string(kXmlTextBytesMax, 'x') + "</a>"));
  EXPECT_ERROR(parse_xml("<a>" + std::string(kXmlTextBytesMax + 1, 'x') + "</a>"), ErrorCode::too_large, "text");
  EXPECT_ERROR(parse_xml(std::string(kXmlBytesMax + 1, ' ')), ErrorCode::too_large, "bytes");
}

TEST(Xml, ReadsBackWhatItEscapes) {
  const std::string text = "\"<a>&amp;'\r\n]]>";
  const Result<XmlElement> root = parse_xml("<a>" + xml_escaped(text) + "</a>");
  ASSERT_OK(root);
  EXPECT_EQ(root->text, text);
}

}  // namespace
}  // namespace coterie::s3
