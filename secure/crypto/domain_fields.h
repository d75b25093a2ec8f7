// DomainFields: a list of fields as bytes for a hash, a signature or a key derivation, such that no two different lists
// give the same bytes, and no list of one purpose those of another.
//
// Encoding: the domain and then each field, as its length (4 bytes, big-endian) and its bytes. Numbers are fields of 8
// bytes, big-endian. Nothing secret belongs into a list: it is not wiped.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace coterie {

class DomainFields {
 public:
  // The purpose and its version, printable ASCII: "coterie/v1/mask".
  explicit DomainFields(std::string_view domain);

  DomainFields& add(ByteView field);
  DomainFields& add(std::string_view field) { return add(as_bytes(field)); }
  DomainFields& add(uint64_t number);

  ByteView view() const { return bytes_; }

 private:
  Bytes bytes_;
};

}  // namespace coterie
