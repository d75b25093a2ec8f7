#include "tests/unit/tools/strict_xml.h"

#include <cctype>
#include <optional>

namespace coterie::test {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  Xml read() {
    while (xml_.error.empty() && !rest_.empty()) {
      if (!open_.empty() || rest_.front() == '<') read_piece();
      else if (rest_ == "\n") rest_ = {};
      else fail("text outside of the root");
    }
    if (xml_.error.empty() && !open_.empty()) fail("an element is not closed");
    if (xml_.error.empty() && xml_.elements.empty()) fail("there is no element");
    return std::move(xml_);
  }

 private:
  void fail(const std::string& why) {
    if (xml_.error.empty()) xml_.error = why + " before: " + std::string(rest_.substr(0, 40));
    rest_ = {};
  }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  void read_piece() {
    if (take("</")) return close();
    if (take("<")) return open();
    const size_t end = rest_.find('<');
    const auto text = resolved(rest_.substr(0, end));
    if (!text) return fail("a character that must be escaped");
    xml_.elements[open_.back()].text += *text;
    rest_.remove_prefix(std::min(end, rest_.size()));
  }

  std::string name() {
    size_t size = 0;
    while (size < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 || rest_[size] == '-'))
      ++size;
    const std::string name(rest_.substr(0, size));
    rest_.remove_prefix(size);
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) fail("a name is missing");
    return name;
  }

  void close() {
    const std::string closed = name();
    if (open_.empty() || xml_.elements[open_.back()].name != closed) return fail("closes what is not open");
    open_.pop_back();
    if (!take(">")) fail("expected >");
  }

  void open() {
    if (open_.empty() && !xml_.elements.empty()) return fail("a second root");
    XmlElement element;
    element.name = name();
    while (xml_.error.empty() && take(" ")) {
      const std::string key = name();
      if (!take("=\"")) return fail("expected =\"");
      const size_t end = rest_.find('"');
      if (end == rest_.npos) return fail("an attribute does not end");
      const auto value = resolved(rest_.substr(0, end));
      if (!value) return fail("a character that must be escaped");
      if (!element.attributes.emplace(key, *value).second) return fail("an attribute is there twice");
      rest_.remove_prefix(end + 1);
    }
    const bool is_empty = take("/");
    if (!take(">")) return fail("expected >");
    xml_.elements.push_back(std::move(element));
    if (!is_empty) open_.push_back(xml_.elements.size() - 1);
  }

  static std::optional<std::string> resolved(std::string_view text) {
    static const std::map<std::string_view, char> kEntities = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string result;
    while (!text.empty()) {
      const char c = text.front();
      if (c == '<' || (static_cast<unsigned char>(c) < 0x20 && c != '\n')) return std::nullopt;
      if (c != '&') {
        result += c;
        text.remove_prefix(1);
        continue;
      }
      const auto entity = kEntities.find(text.substr(0, text.find(';') + 1));
      if (entity == kEntities.end()) return std::nullopt;
      result += entity->second;
      text.remove_prefix(entity->first.size());
    }
    return result;
  }

  std::string_view rest_;
  std::vector<size_t> open_;
  Xml xml_;
};

}  // namespace

Xml read_xml(std::string_view document) { return Reader(document).read(); }

}  // namespace coterie::test
