// The XML that S3 answers with, read strictly: elements with text or children. Pure, and for answers of
// strangers.
//
// Attributes are checked for form and forgotten. No document types, no processing instructions but the first
// line's, no comments, no CDATA; entities are the five of XML and character references.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie::s3 {

inline constexpr size_t kXmlBytesMax = 4 << 20;  // a page of a list has a thousand keys: some 400 KB
inline constexpr size_t kXmlElementsMax = 32'768;
inline constexpr size_t kXmlDepthMax = 8;

struct XmlElement {
  std::string name;
  std::string text;  // its own, blanks and all
  std::vector<XmlElement> children;

  // The first child of that name; null if there is none.
  const XmlElement* child(std::string_view wanted) const;
  // Its text; empty if there is none.
  std::string_view child_text(std::string_view wanted) const;
};

// The root element. malformed, with the place; too_large.
Result<XmlElement> parse_xml(std::string_view text);

// Text that may stand in an element.
std::string xml_escaped(std::string_view text);

}  // namespace coterie::s3
