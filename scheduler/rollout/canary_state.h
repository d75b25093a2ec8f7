// What a canary is: canary_machine.h has what leads there.
#pragma once

#include <cstdint>
#include <string_view>

namespace coterie {

enum class CanaryState : uint8_t { running = 1, promoted, rolled_back, ended };
std::string_view to_string(CanaryState state);

}  // namespace coterie
