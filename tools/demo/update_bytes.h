// What one device sends in a round of a plan: the payload of its update, without the frame's header.
#pragma once

#include <cstdint>

#include "proto/messages/plan.h"

namespace coterie {

uint64_t update_bytes(const Plan& plan);

}  // namespace coterie
