// The XML that S3 answers with, read strictly by expat (ADR 46): elements with text or children. Pure, and for
// answers of strangers.
//
// UTF-8, whatever the first line says. Names are as they are written, with their prefix: namespaces are not
// resolved. Attributes are checked for form and forgotten. Document types, comments, CDATA and processing
// instructions but the first line are refused: no answer of S3 has any. Entities are the five of XML and
// character references.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie::s3 {

inline constexpr size_t kXmlBytesMax = 4 << 20;  // a page of a list has a thousand keys: some 400 KB
inline constexpr size_t kXmlElementsMax = 32'768;
inline constexpr size_t kXmlDepthMax = 8;
inline constexpr size_t kXmlTextBytesMax = 64 * 1024;  // of one element: keys have 1 KiB, and a root has its blanks

struct XmlElement {
  std::string name;
  std::string text;  // its own, blanks and all; ends of lines are \n
  std::vector<XmlElement> children;

  // The first child of that name; null if there is none.
  const XmlElement* child(std::string_view wanted) const;
  // Its text; empty if there is none.
  std::string_view child_text(std::string_view wanted) const;
};

// The root element. malformed, with the place; too_large: over a limit above.
Result<XmlElement> parse_xml(std::string_view text);

// Text that may stand in an element.
std::string xml_escaped(std::string_view text);

}  // namespace coterie::s3
