// A strict reader of the XML that an SVG file of ours may be: anything doubtful is an error.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coterie::test {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;  // entities resolved
  std::string text;                               // its own, without that of elements within
};

struct Xml {
  std::string error;                 // empty: well-formed
  std::vector<XmlElement> elements;  // in the order they begin

  std::vector<XmlElement> named(std::string_view name) const {
    std::vector<XmlElement> found;
    for (const XmlElement& element : elements) {
      if (element.name == name) found.push_back(element);
    }
    return found;
  }
};

Xml read_xml(std::string_view document);

}  // namespace coterie::test
