// Bytes and their text forms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

using Bytes = std::vector<uint8_t>;
using ByteView = std::span<const uint8_t>;

inline ByteView as_bytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
inline std::string_view as_text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Lower-case hexadecimal.
std::string to_hex(ByteView bytes);
Result<Bytes> from_hex(std::string_view text);

// Base64 with the URL alphabet and no padding (RFC 4648 section 5). Decoding is strict: no padding, no foreign
// characters, unused trailing bits zero, so that every byte string has exactly one text.
std::string to_base64url(ByteView bytes);
Result<Bytes> from_base64url(std::string_view text);

// A 32-byte content digest (secure/crypto/digest.h says of which function).
struct Digest {
  std::array<uint8_t, 32> bytes{};

  ByteView view() const { return bytes; }
  std::string hex() const { return to_hex(bytes); }
  static Result<Digest> from_hex(std::string_view text);

  friend auto operator<=>(const Digest&, const Digest&) = default;
};

}  // namespace coterie
