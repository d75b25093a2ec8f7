#include "secure/crypto/domain_fields.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/assert.h"

namespace coterie {
namespace {

template <size_t kBytes>
std::array<uint8_t, kBytes> big_endian(uint64_t number) {
  std::array<uint8_t, kBytes> bytes;
  for (size_t i = 0; i < kBytes; ++i) bytes[kBytes - 1 - i] = static_cast<uint8_t>(number >> 8 * i);
  return bytes;
}

}  // namespace

DomainFields::DomainFields(std::string_view domain) {
  COT_ASSERT(!domain.empty() && std::ranges::all_of(domain, [](char c) { return c > ' ' && c <= '~'; }));
  add(domain);
}

DomainFields& DomainFields::add(ByteView field) {
  COT_ASSERT(field.size() <= std::numeric_limits<uint32_t>::max());
  const auto size = big_endian<4>(field.size());
  bytes_.insert(bytes_.end(), size.begin(), size.end());
  bytes_.insert(bytes_.end(), field.begin(), field.end());
  return *this;
}

DomainFields& DomainFields::add(uint64_t number) { return add(ByteView(big_endian<8>(number))); }

}  // namespace coterie
