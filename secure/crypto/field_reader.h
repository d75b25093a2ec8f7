// FieldReader: reads what DomainFields wrote (domain_fields.h), where such a list is itself what travels: a
// certificate, a list of revoked ones. Strict: each list has one form, so that what is read and written again has the
// same bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

class FieldReader {
 public:
  // `what` names the list in errors. Both views outlive the reader and the fields that it gives.
  FieldReader(ByteView bytes, std::string_view what) : rest_(bytes), whole_(bytes), what_(what) {}

  // The first field: malformed if it is another domain.
  Status domain(std::string_view domain);
  // malformed: cut short, or of fewer than `size_min` or more than `size_max` bytes.
  Result<ByteView> bytes(std::string_view name, size_t size_min, size_t size_max);
  // malformed: not 8 bytes, or over `number_max`.
  Result<uint64_t> number(std::string_view name, uint64_t number_max);
  // malformed if anything is left.
  Status end() const;

  // What was read so far, as it lies there: what a signature behind it covers.
  ByteView read_so_far() const { return whole_.first(whole_.size() - rest_.size()); }

 private:
  Error malformed(const std::string& problem) const;

  ByteView rest_, whole_;
  std::string_view what_;
};

}  // namespace coterie
