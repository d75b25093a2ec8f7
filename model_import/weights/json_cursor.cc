#include "model_import/weights/json_cursor.h"

#include <algorithm>
#include <charconv>

namespace coterie::model_import {
namespace {

void add_utf8(std::string& text, uint32_t code) {
  const auto add = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

}  // namespace

void JsonCursor::skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

bool JsonCursor::take(char sign) {
  skip_blanks();
  if (!rest_.starts_with(sign)) return false;
  rest_.remove_prefix(1);
  return true;
}

bool JsonCursor::is_at_end() {
  skip_blanks();
  return rest_.empty();
}

std::optional<uint32_t> JsonCursor::hex4() {
  uint32_t code = 0;
  if (rest_.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
  if (error != std::errc() || end != rest_.data() + 4) return std::nullopt;
  rest_.remove_prefix(4);
  return code;
}

// What stands behind a backslash.
bool JsonCursor::unescape(std::string& text) {
  if (rest_.empty()) return false;
  const char sign = rest_[0];
  rest_.remove_prefix(1);
  switch (sign) {
    case '"':
    case '\\':
    case '/': text.push_back(sign); return true;
    case 'b': text.push_back('\b'); return true;
    case 'f': text.push_back('\f'); return true;
    case 'n': text.push_back('\n'); return true;
    case 'r': text.push_back('\r'); return true;
    case 't': text.push_back('\t'); return true;
    case 'u': break;
    default: return false;
  }
  const std::optional<uint32_t> code = hex4();
  if (!code || (*code >= 0xdc00 && *code < 0xe000)) return false;
  if (*code < 0xd800 || *code >= 0xe000) {
    add_utf8(text, *code);
    return true;
  }
  if (!rest_.starts_with("\\u")) return false;
  rest_.remove_prefix(2);
  const std::optional<uint32_t> low = hex4();
  if (!low || *low < 0xdc00 || *low >= 0xe000) return false;
  add_utf8(text, 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00));
  return true;
}

std::optional<std::string> JsonCursor::string(size_t bytes_max) {
  if (!take('"')) return std::nullopt;
  std::string text;
  while (!rest_.empty() && text.size() <= bytes_max) {
    const char sign = rest_[0];
    rest_.remove_prefix(1);
    if (sign == '"') return text;
    if (static_cast<unsigned char>(sign) < 0x20) return std::nullopt;
    if (sign != '\\') text.push_back(sign);
    else if (!unescape(text)) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<uint64_t> JsonCursor::number() {
  skip_blanks();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc()) return std::nullopt;
  rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
  return value;
}

}  // namespace coterie::model_import
