#include "base/bytes.h"

#include <algorithm>

#include "base/text/concat.h"

namespace coterie {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  // Lower case only: the same bytes have one text, as names are compared as text.
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  if (c == '_') return 63;
  return -1;
}

Error not_text_of(const char* form) { return Error(ErrorCode::malformed, concat({"not ", form, " text"})); }

}  // namespace

std::string to_hex(ByteView bytes) {
  std::string text(bytes.size() * 2, '0');
  char* at = text.data();
  for (const uint8_t byte : bytes) {
    *at++ = kHex[byte >> 4];
    *at++ = kHex[byte & 15];
  }
  return text;
}

Result<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return not_text_of("hexadecimal");
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return not_text_of("hexadecimal");
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  return bytes;
}

std::string to_base64url(ByteView bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t buffer = 0;
  int bits = 0;
  for (uint8_t byte : bytes) {
    buffer = buffer << 8 | byte;
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += kBase64[buffer >> bits & 63];
    }
  }
  if (bits > 0) text += kBase64[buffer << (6 - bits) & 63];
  return text;
}

Result<Bytes> from_base64url(std::string_view text) {
  // One character is six bits, which are no byte.
  if (text.size() % 4 == 1) return not_text_of("base64url");
  Bytes bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t buffer = 0;
  int bits = 0;
  for (char c : text) {
    const int value = base64_value(c);
    if (value < 0) return not_text_of("base64url");
    buffer = buffer << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<uint8_t>(buffer >> bits));
    }
  }
  // Bits that are left over are 0, or other texts would mean the same bytes.
  if ((buffer & ((1u << bits) - 1)) != 0) return not_text_of("canonical base64url");
  return bytes;
}

Result<Digest> Digest::from_hex(std::string_view text) {
  Digest digest;
  COT_ASSIGN(const Bytes decoded, coterie::from_hex(text));
  if (decoded.size() != digest.bytes.size()) {
    return Error(ErrorCode::malformed, concat({"a digest is 64 hexadecimal digits, got ", text.size()}));
  }
  std::copy(decoded.begin(), decoded.end(), digest.bytes.begin());
  return digest;
}

}  // namespace coterie
