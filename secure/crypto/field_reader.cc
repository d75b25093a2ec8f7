#include "secure/crypto/field_reader.h"

namespace coterie {
namespace {

constexpr size_t kLengthBytes = 4, kNumberBytes = 8;  // as DomainFields writes them

uint64_t big_endian(ByteView bytes) {
  uint64_t number = 0;
  for (const uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

}  // namespace

Error FieldReader::malformed(const std::string& problem) const {
  return Error(ErrorCode::malformed, std::string(what_) + ": " + problem);
}

Status FieldReader::domain(std::string_view domain) {
  const Result<ByteView> field = bytes("domain", domain.size(), domain.size());
  if (field && as_text(*field) == domain) return {};
  return malformed("does not begin with " + std::string(domain));
}

Result<ByteView> FieldReader::bytes(std::string_view name, size_t size_min, size_t size_max) {
  if (rest_.size() < kLengthBytes) return malformed(std::string(name) + " is missing");
  const uint64_t size = big_endian(rest_.first(kLengthBytes));
  if (size < size_min || size > size_max) {
    return malformed(std::string(name) + " has " + std::to_string(size) + " bytes, it must have " +
                     std::to_string(size_min) + " to " + std::to_string(size_max));
  }
  if (rest_.size() - kLengthBytes < size) return malformed(std::string(name) + " is cut short");
  const ByteView field = rest_.subspan(kLengthBytes, size);
  rest_ = rest_.subspan(kLengthBytes + size);
  return field;
}

Result<uint64_t> FieldReader::number(std::string_view name, uint64_t number_max) {
  COT_ASSIGN(const ByteView field, bytes(name, kNumberBytes, kNumberBytes));
  const uint64_t number = big_endian(field);
  if (number > number_max) return malformed(std::string(name) + " is over " + std::to_string(number_max));
  return number;
}

Status FieldReader::end() const {
  if (rest_.empty()) return {};
  return malformed(std::to_string(rest_.size()) + " bytes are left behind its end");
}

}  // namespace coterie
