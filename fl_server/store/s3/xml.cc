#include "fl_server/store/s3/xml.h"

#include <expat.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace coterie::s3 {
namespace {

// Says where in the answer, so that whoever runs the store can look.
Error wrong(const std::string& what, size_t at) {
  return Error(ErrorCode::malformed, "XML: " + what + " at byte " + std::to_string(at));
}

Error too_many(const std::string& what) { return Error(ErrorCode::too_large, "XML: " + what); }

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

// Puts together what expat tells. The first fault stops the parser, and all that is told after it is nothing.
class Builder {
 public:
  Builder(XML_Parser parser, size_t skipped) : parser_(parser), skipped_(skipped) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(parser, on_start, on_end);
    XML_SetCharacterDataHandler(parser, on_text);
    // Entities are declared in a document type alone: without one none can grow (billion laughs) or name a file.
    XML_SetStartDoctypeDeclHandler(parser, [](void* context, const XML_Char*, const XML_Char*, const XML_Char*, int) {
      static_cast<Builder*>(context)->refuse("a document type");
    });
    XML_SetProcessingInstructionHandler(parser, [](void* context, const XML_Char*, const XML_Char*) {
      static_cast<Builder*>(context)->refuse("a processing instruction");
    });
    XML_SetCommentHandler(parser,
                          [](void* context, const XML_Char*) { static_cast<Builder*>(context)->refuse("a comment"); });
    XML_SetStartCdataSectionHandler(parser,
                                    [](void* context) { static_cast<Builder*>(context)->refuse("a CDATA section"); });
  }

  Result<XmlElement> build(std::string_view text) {
    const XML_Status status = XML_Parse(parser_, text.data(), static_cast<int>(text.size()), XML_TRUE);
    if (fault_) return *std::move(fault_);
    if (status != XML_STATUS_OK) return wrong(XML_ErrorString(XML_GetErrorCode(parser_)), at());
    return std::move(root_);
  }

 private:
  static void on_start(void* context, const XML_Char* name, const XML_Char**) {
    static_cast<Builder*>(context)->start(name);
  }
  static void on_end(void* context, const XML_Char*) { static_cast<Builder*>(context)->end(); }
  static void on_text(void* context, const XML_Char* text, int size) {
    static_cast<Builder*>(context)->add(std::string_view(text, static_cast<size_t>(size)));
  }

  size_t at() const { return skipped_ + static_cast<size_t>(std::max<XML_Index>(XML_GetCurrentByteIndex(parser_), 0)); }

  void stop(Error fault) {
    if (fault_) return;
    fault_ = std::move(fault);
    XML_StopParser(parser_, XML_FALSE);
  }
  void refuse(const std::string& what) { stop(wrong(what + " is not read", at())); }

  void start(const XML_Char* name) {
    if (fault_) return;
    if (open_.size() == kXmlDepthMax)
      return stop(too_many("elements are more than " + std::to_string(kXmlDepthMax) + " deep"));
    if (elements_ == kXmlElementsMax)
      return stop(too_many("there are more than " + std::to_string(kXmlElementsMax) + " elements"));
    ++elements_;
    open_.push_back({.name = name, .text = {}, .children = {}});
  }

  void add(std::string_view text) {
    if (fault_) return;
    std::string& own = open_.back().text;  // expat tells no text outside of the root
    if (text.size() > kXmlTextBytesMax - own.size())
      return stop(too_many("an element has more than " + std::to_string(kXmlTextBytesMax) + " bytes of text"));
    own += text;
  }

  void end() {
    if (fault_) return;
    XmlElement done = std::move(open_.back());
    open_.pop_back();
    if (open_.empty()) root_ = std::move(done);
    else open_.back().children.push_back(std::move(done));
  }

  XML_Parser parser_;
  size_t skipped_;                // bytes in front of what is parsed
  std::vector<XmlElement> open_;  // from the root to the element that is being read
  size_t elements_ = 0;
  XmlElement root_;
  std::optional<Error> fault_;
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
  if (text.size() > kXmlBytesMax)
    return too_many(std::to_string(text.size()) + " bytes, at most " + std::to_string(kXmlBytesMax));
  // expat guesses UTF-16 from its zeros, whatever it is told; XML in UTF-8 has none.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) return wrong("a zero byte", zero);
  // S3 sends blanks while it puts parts together, and the first line, which XML wants first, after them.
  const size_t skipped = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::unique_ptr<XML_ParserStruct, FreeParser> parser(XML_ParserCreate("UTF-8"));
  if (parser == nullptr) return Error(ErrorCode::internal, "XML: expat could not be set up");
  return Builder(parser.get(), skipped).build(text.substr(skipped));
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    else if (c == '"') escaped += "&quot;";
    else if (c == '\r') escaped += "&#13;";  // by itself it would be read as the end of a line
    else escaped += c;
  }
  return escaped;
}

}  // namespace coterie::s3
