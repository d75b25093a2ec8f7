#include "secure/identity/der_reader.h"

namespace coterie {
namespace {

constexpr uint32_t kBoolean = 1, kInteger = 2, kOctets = 4, kEnumerated = 10, kSequence = 16, kSet = 17;
constexpr uint8_t kLongTag = 0x1f, kMore = 0x80, kConstructed = 0x20, kTrue = 0xff;
constexpr size_t kLengthBytesMax = 4, kNumberBytesMax = 8;

}  // namespace

Error DerReader::malformed(const std::string& problem) const {
  return Error(ErrorCode::malformed, std::string(what_) + ": " + problem);
}

Result<uint8_t> DerReader::byte() {
  if (rest_.empty()) return malformed("is cut short");
  const uint8_t first = rest_[0];
  rest_ = rest_.subspan(1);
  return first;
}

// X.690 section 8.1.2.4: seven bits a byte, the first not 0, for tags from 31 on.
Result<uint32_t> DerReader::long_tag() {
  uint32_t tag = 0;
  for (bool is_first = true;; is_first = false) {
    COT_ASSIGN(const uint8_t part, byte());
    if (is_first && part == kMore) return malformed("a tag has leading zeros");
    tag = tag << 7 | (part & ~kMore & 0xffu);
    if (tag > kDerTagMax) return malformed("a tag is over " + std::to_string(kDerTagMax));
    if ((part & kMore) == 0) break;
  }
  if (tag < kLongTag) return malformed("a tag is not in its shortest form");
  return tag;
}

// X.690 sections 8.1.3 and 10.1: definite, in as few bytes as can be.
Result<size_t> DerReader::length() {
  COT_ASSIGN(const uint8_t first, byte());
  if ((first & kMore) == 0) return size_t{first};
  const size_t count = first & ~kMore & 0xffu;
  if (count == 0 || count > kLengthBytesMax) return malformed("a length is indefinite, or of more than 4 bytes");
  size_t length = 0;
  for (size_t i = 0; i < count; ++i) {
    COT_ASSIGN(const uint8_t part, byte());
    if (i == 0 && part == 0) return malformed("a length has leading zeros");
    length = length << 8 | part;
  }
  if (length < kMore) return malformed("a length is not in its shortest form");
  return length;
}

Result<DerElement> DerReader::next() {
  DerElement element;
  COT_ASSIGN(const uint8_t first, byte());
  element.tag_class = static_cast<DerClass>(first >> 6);
  element.is_constructed = (first & kConstructed) != 0;
  element.tag = first & kLongTag;
  if (element.tag == kLongTag) {
    COT_ASSIGN(element.tag, long_tag());
  }
  COT_ASSIGN(const size_t size, length());
  if (size > rest_.size()) return malformed("an element is longer than what it stands in");
  element.content = rest_.first(size);
  rest_ = rest_.subspan(size);
  return element;
}

Result<ByteView> DerReader::universal(std::string_view name, uint32_t tag, bool is_constructed) {
  COT_ASSIGN(const DerElement element, next());
  if (element.tag_class == DerClass::universal && element.tag == tag && element.is_constructed == is_constructed) {
    return element.content;
  }
  return malformed(std::string(name) + " is not where it should be");
}

Result<DerReader> DerReader::sequence(std::string_view name) {
  COT_ASSIGN(const ByteView content, universal(name, kSequence, true));
  return DerReader(content, what_);
}

Result<DerReader> DerReader::set(std::string_view name) {
  COT_ASSIGN(const ByteView content, universal(name, kSet, true));
  return DerReader(content, what_);
}

Result<ByteView> DerReader::octets(std::string_view name) { return universal(name, kOctets, false); }

Result<uint64_t> DerReader::number(std::string_view name, uint32_t tag) {
  COT_ASSIGN(ByteView content, universal(name, tag, false));
  if (content.empty()) return malformed(std::string(name) + " has no digits");
  if ((content[0] & kMore) != 0) return malformed(std::string(name) + " is negative");
  // A zero byte stands before a first one that would look negative, and nowhere else.
  if (content[0] == 0 && content.size() > 1) {
    if ((content[1] & kMore) == 0) return malformed(std::string(name) + " is not in its shortest form");
    content = content.subspan(1);
  }
  if (content.size() > kNumberBytesMax) return malformed(std::string(name) + " has more than 64 bits");
  uint64_t value = 0;
  for (const uint8_t part : content) value = value << 8 | part;
  return value;
}

Result<uint64_t> DerReader::integer(std::string_view name) { return number(name, kInteger); }
Result<uint64_t> DerReader::enumerated(std::string_view name) { return number(name, kEnumerated); }

Result<bool> DerReader::boolean(std::string_view name) {
  COT_ASSIGN(const ByteView content, universal(name, kBoolean, false));
  if (content.size() == 1 && (content[0] == 0 || content[0] == kTrue)) return content[0] == kTrue;
  return malformed(std::string(name) + " is neither true nor false");
}

Status DerReader::end() const { return rest_.empty() ? Status() : malformed("something is left behind its end"); }

}  // namespace coterie
