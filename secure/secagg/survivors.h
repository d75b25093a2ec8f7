// Survivor sets: bits to members and back, and what a device confirms about one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/secagg.h"

namespace coterie::secagg {

// Members ascend, below `size`.
SurvivorSet make_survivors(uint32_t size, const std::vector<uint32_t>& members);

// Whether the bits are as many as `size` needs, and none beyond.
bool is_well_formed(const SurvivorSet& set);

// The following expect a well-formed set.
bool contains(const SurvivorSet& set, uint32_t device);
uint32_t count(const SurvivorSet& set);
std::vector<uint32_t> members(const SurvivorSet& set);

// What a confirmation signs.
Bytes confirmation_text(const Digest& session, const SurvivorSet& set);

}  // namespace coterie::secagg
