#include "fl_server/store/s3/xml.h"

#include <charconv>

namespace coterie::s3 {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_name_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == ':';
}

void append_utf8(std::string& text, uint32_t point) {
  const auto tail = [&](uint32_t shift) { text += static_cast<char>(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0 | (point >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<XmlElement> document() {
    skip_blanks();  // S3 sends some while it puts parts together, and the first line after them
    if (text_.substr(at_).starts_with("<?xml ")) {
      const size_t end = text_.find("?>", at_);
      if (end == std::string_view::npos) return wrong("the first line has no end");
      at_ = end + 2;
      skip_blanks();
    }
    COT_ASSIGN(XmlElement root, element(1));
    skip_blanks();
    if (at_ != text_.size()) return wrong("something follows the root element");
    return root;
  }

 private:
  Error wrong(const std::string& what) const {
    return Error(ErrorCode::malformed, "XML: " + what + " at byte " + std::to_string(at_));
  }
  bool is_at_end() const { return at_ >= text_.size(); }
  bool take(char c) {
    if (is_at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (!is_at_end() && is_blank(text_[at_])) ++at_;
  }

  Result<std::string> name() {
    const size_t first = at_;
    while (!is_at_end() && is_name_char(text_[at_])) ++at_;
    if (at_ == first) return wrong("a name was expected");
    return std::string(text_.substr(first, at_ - first));
  }

  Status attributes() {
    for (;;) {
      const size_t before = at_;
      skip_blanks();
      if (is_at_end()) return wrong("a tag has no end");
      if (text_[at_] == '>' || text_[at_] == '/') return {};
      if (at_ == before) return wrong("a blank was expected before an attribute");
      COT_TRY(name());
      if (!take('=')) return wrong("= was expected after an attribute's name");
      if (is_at_end() || (text_[at_] != '"' && text_[at_] != '\'')) return wrong("a quoted value was expected");
      const size_t end = text_.find(text_[at_], at_ + 1);
      if (end == std::string_view::npos) return wrong("a quoted value has no end");
      if (text_.substr(at_, end - at_).find('<') != std::string_view::npos) return wrong("< in a quoted value");
      at_ = end + 1;
    }
  }

  Status reference(std::string& into) {
    const size_t end = text_.find(';', at_);
    if (end == std::string_view::npos || end - at_ > 10) return wrong("an entity has no end");
    const std::string_view entity = text_.substr(at_ + 1, end - at_ - 1);
    if (entity == "amp") into += '&';
    else if (entity == "lt") into += '<';
    else if (entity == "gt") into += '>';
    else if (entity == "quot") into += '"';
    else if (entity == "apos") into += '\'';
    else if (entity.starts_with("#")) {
      const bool is_hex = entity.starts_with("#x");
      const std::string_view digits = entity.substr(is_hex ? 2 : 1);
      uint32_t point = 0;
      const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), point, is_hex ? 16 : 10);
      const bool is_char = point == '\t' || point == '\n' || point == '\r' || (point >= 0x20 && point < 0xd800) ||
                           (point >= 0xe000 && point <= 0x10ffff);
      if (error != std::errc() || rest != digits.data() + digits.size() || !is_char) return wrong("no such character");
      append_utf8(into, point);
    } else {
      return wrong("no such entity");
    }
    at_ = end + 1;
    return {};
  }

  Result<XmlElement> element(size_t depth) {
    if (depth > kXmlDepthMax)
      return Error(ErrorCode::too_large, "XML: elements are more than " + std::to_string(kXmlDepthMax) + " deep");
    if (++elements_ > kXmlElementsMax) {
      return Error(ErrorCode::too_large, "XML: there are more than " + std::to_string(kXmlElementsMax) + " elements");
    }
    if (!take('<')) return wrong("an element was expected");
    XmlElement element;
    COT_ASSIGN(element.name, name());
    COT_TRY(attributes());
    if (take('/')) {
      if (!take('>')) return wrong("> was expected");
      return element;
    }
    if (!take('>')) return wrong("> was expected");
    COT_TRY(content(element, depth));
    return element;
  }

  // Up to the end tag, and that.
  Status content(XmlElement& element, size_t depth) {
    while (!is_at_end()) {
      if (text_.substr(at_).starts_with("</")) {
        at_ += 2;
        COT_ASSIGN(const std::string closed, name());
        if (closed != element.name) return wrong("</" + element.name + "> was expected");
        skip_blanks();
        if (!take('>')) return wrong("> was expected");
        return {};
      }
      if (text_[at_] == '<') {
        COT_ASSIGN(XmlElement child, this->element(depth + 1));
        element.children.push_back(std::move(child));
      } else if (text_[at_] == '&') {
        COT_TRY(reference(element.text));
      } else {
        element.text += text_[at_++];
      }
    }
    return wrong("<" + element.name + "> has no end");
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  for (const XmlElement& one : children) {
    if (one.name == wanted) return &one;
  }
  return nullptr;
}

std::string_view XmlElement::child_text(std::string_view wanted) const {
  const XmlElement* found = child(wanted);
  return found != nullptr ? std::string_view(found->text) : std::string_view();
}

Result<XmlElement> parse_xml(std::string_view text) {
  if (text.size() > kXmlBytesMax) {
    return Error(ErrorCode::too_large,
                 "XML: " + std::to_string(text.size()) + " bytes, at most " + std::to_string(kXmlBytesMax));
  }
  return Parser(text).document();
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    else if (c == '"') escaped += "&quot;";
    else escaped += c;
  }
  return escaped;
}

}  // namespace coterie::s3
