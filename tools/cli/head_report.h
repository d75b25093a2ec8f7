// What the heads of a training or an evaluation have come to, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "device_sdk/runtime/loss_heads.h"

namespace coterie {

std::string heads_text(std::span<const HeadResult> heads);  // a table; empty without heads
nlohmann::json heads_json(std::span<const HeadResult> heads);

}  // namespace coterie
