#include "secure/secagg/survivors.h"

#include <bit>

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"

namespace coterie::secagg {

SurvivorSet make_survivors(uint32_t size, const std::vector<uint32_t>& members) {
  SurvivorSet set{.size = size, .bits = Bytes((size_t{size} + 7) / 8)};
  for (const uint32_t device : members) {
    COT_ASSERT(device < size);
    set.bits[device / 8] |= static_cast<uint8_t>(1u << (device % 8));
  }
  return set;
}

bool is_well_formed(const SurvivorSet& set) {
  if (set.bits.size() != (size_t{set.size} + 7) / 8) return false;
  return set.size % 8 == 0 || set.bits.back() >> (set.size % 8) == 0;
}

bool contains(const SurvivorSet& set, uint32_t device) {
  return device < set.size && ((set.bits[device / 8] >> (device % 8)) & 1) != 0;
}

uint32_t count(const SurvivorSet& set) {
  uint32_t count = 0;
  for (const uint8_t byte : set.bits) count += static_cast<uint32_t>(std::popcount(byte));
  return count;
}

std::vector<uint32_t> members(const SurvivorSet& set) {
  std::vector<uint32_t> members;
  for (uint32_t device = 0; device < set.size; ++device) {
    if (contains(set, device)) members.push_back(device);
  }
  return members;
}

Bytes confirmation_text(const Digest& session, const SurvivorSet& set) {
  DomainFields fields("coterie/v1/survivors");
  fields.add(session.view()).add(set.size).add(set.bits);
  const ByteView text = fields.view();
  return Bytes(text.begin(), text.end());
}

}  // namespace coterie::secagg
