#include "fl_server/serving/base64.h"

#include <cstdint>

namespace coterie {
namespace {

constexpr int kBitsOfCharacter = 6, kBitsOfByte = 8;

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  const Error wrong(ErrorCode::invalid_argument,
                    "a string is no base64 (RFC 4648: A-Z, a-z, 0-9, + and /, without blanks or line ends)");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  if (padding > 0 && text.size() % 4 != 0) return wrong;
  text.remove_suffix(padding);
  if (text.size() % 4 == 1) return wrong;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0) return wrong;
    held = (held << kBitsOfCharacter | static_cast<uint32_t>(value)) & 0xffff;
    bits += kBitsOfCharacter;
    if (bits < kBitsOfByte) continue;
    bits -= kBitsOfByte;
    bytes.push_back(static_cast<char>(held >> bits & 0xff));
  }
  if ((held & ((1u << bits) - 1)) != 0) return wrong;
  return bytes;
}

}  // namespace coterie
