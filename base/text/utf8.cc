#include "base/text/utf8.h"

#include <cstdint>

namespace coterie {

bool is_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<uint8_t>(text[at]);
    const size_t more = lead < 0x80 ? 0 : lead < 0xc2 ? 4 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : 4;
    if (more == 4 || at + more >= text.size()) return false;
    for (size_t i = 1; i <= more; ++i) {
      const auto next = static_cast<uint8_t>(text[at + i]);
      // The next byte has a narrower range where the form would be too long, a surrogate or too large.
      const uint8_t low = i > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      const uint8_t high = i > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
      if (next < low || next > high) return false;
    }
    at += more + 1;
  }
  return true;
}

}  // namespace coterie
