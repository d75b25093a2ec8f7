#include "base/json/json_scanner.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text/number_from_chars.h"

namespace coterie {
namespace {

constexpr size_t kDigitsOfFloatMax = 7;  // fewer than 2^24: exact in a float
constexpr std::array<float, 11> kPowersOfTen{1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The bytes of the UTF-8 sequence that `text` begins with; 0 if it begins with none (RFC 3629: no surrogates, nothing
// over-long).
size_t sequence_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool is_over_long = first == 0xe0 && byte(1) < 0xa0, is_surrogate = first == 0xed && byte(1) > 0x9f;
    return follows(1) && follows(2) && !is_over_long && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool is_over_long = first == 0xf0 && byte(1) < 0x90, is_beyond = first == 0xf4 && byte(1) > 0x8f;
    return follows(1) && follows(2) && follows(3) && !is_over_long && !is_beyond ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& out, uint32_t point) {
  const auto put = [&out](uint32_t byte) { out += static_cast<char>(static_cast<uint8_t>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xc0 | (point >> 6));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
  }
  put(0x80 | (point & 0x3f));
}

}  // namespace

bool JsonScanner::fail(const std::string& what) {
  if (!failure_) failure_ = Error(ErrorCode::malformed, "byte " + std::to_string(at_) + ": " + what);
  return false;
}

void JsonScanner::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

char JsonScanner::peek() {
  if (failure_) return 0;
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonScanner::take(char wanted) {
  if (peek() != wanted || at_ == text_.size()) return false;
  ++at_;
  return true;
}

bool JsonScanner::end() {
  if (failure_) return false;
  skip_blanks();
  return at_ == text_.size() || fail("something follows behind the JSON value");
}

bool JsonScanner::object(const std::function<bool(std::string_view key)>& on_member) {
  if (!take('{')) return fail("an object is expected");
  // Elements are read by calls within calls: a hostile document must not use up the stack.
  if (++depth_ > kNestingMax) return fail("nested more than " + std::to_string(kNestingMax) + " deep");
  std::string key;
  for (bool more = !take('}'); more;) {
    if (!string(key)) return false;
    if (!take(':')) return fail("':' is expected behind a key");
    if (!on_member(key)) return fail("the value of this key is wrong");
    more = take(',');
    if (!more && !take('}')) return fail("',' or '}' is expected");
  }
  --depth_;
  return !failure_;
}

bool JsonScanner::array(const std::function<bool()>& on_element) {
  if (!take('[')) return fail("an array is expected");
  if (++depth_ > kNestingMax) return fail("nested more than " + std::to_string(kNestingMax) + " deep");
  for (bool more = !take(']'); more;) {
    if (!on_element()) return fail("this element is wrong");
    more = take(',');
    if (!more && !take(']')) return fail("',' or ']' is expected");
  }
  --depth_;
  return !failure_;
}

bool JsonScanner::code_unit(uint32_t& out) {
  if (text_.size() - at_ < 4) return fail("an escape is cut off");
  const char* const begin = text_.data() + at_;
  const auto [read, error] = std::from_chars(begin, begin + 4, out, 16);
  if (error != std::errc() || read != begin + 4) return fail("\\u takes four hexadecimal digits");
  at_ += 4;
  return true;
}

// Behind the backslash.
bool JsonScanner::escape(std::string& out) {
  if (at_ == text_.size()) return fail("a string has no end");
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const char name = text_[at_];
  if (const size_t i = kNames.find(name); i != std::string_view::npos) {
    ++at_;
    out += kMeanings[i];
    return true;
  }
  if (name != 'u') return fail("there is no such escape");
  ++at_;
  uint32_t point = 0, low = 0;
  if (!code_unit(point)) return false;
  if (point >= 0xdc00 && point <= 0xdfff) return fail("half of a surrogate pair");
  if (point >= 0xd800 && point <= 0xdbff) {
    if (text_.substr(at_, 2) != "\\u") return fail("half of a surrogate pair");
    at_ += 2;
    if (!code_unit(low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return fail("half of a surrogate pair");
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(out, point);
  return true;
}

bool JsonScanner::string(std::string& out) {
  if (!take('"')) return fail("a string is expected");
  out.clear();
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return true;
    }
    if (c == '\\') {
      ++at_;
      if (!escape(out)) return false;
      continue;
    }
    if (static_cast<uint8_t>(c) < 0x20) return fail("a control character in a string");
    const size_t bytes = sequence_bytes(text_.substr(at_));
    if (bytes == 0) return fail("a string that is not UTF-8");
    out.append(text_, at_, bytes);
    at_ += bytes;
  }
  return fail("a string has no end");
}

bool JsonScanner::literal(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return fail("a JSON value is expected");
  at_ += word.size();
  return true;
}

bool JsonScanner::boolean(bool& out) {
  out = peek() == 't';
  if (!out && peek() != 'f') return fail("true or false is expected");
  return literal(out ? "true" : "false");
}

// The longest number here; empty, with a failure, if there is none.
std::string_view JsonScanner::number_text() {
  (void)peek();
  const size_t from = at_;
  size_t i = at_;
  const auto digits = [&] {
    const size_t first = i;
    while (i < text_.size() && is_digit(text_[i])) ++i;
    return i > first;
  };
  const auto is = [&](char c) { return i < text_.size() && text_[i] == c; };
  if (is('-')) ++i;
  const bool is_zero = is('0');
  bool good = is_zero ? (++i, true) : digits();
  if (good && is('.')) good = (++i, digits());
  if (good && (is('e') || is('E'))) {
    ++i;
    if (is('+') || is('-')) ++i;
    good = digits();
  }
  if (!good || failure_ || (i < text_.size() && is_digit(text_[i]))) {
    fail("a number is expected");
    return {};
  }
  at_ = i;
  return text_.substr(from, i - from);
}

bool JsonScanner::unsigned_integer(uint64_t& out) {
  const std::string_view text = number_text();
  if (text.empty()) return false;
  const auto [read, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && read == text.data() + text.size()) return true;
  return fail("a whole number of at least 0 is expected");
}

bool JsonScanner::integer32(int32_t& out) {
  const std::string_view text = number_text();
  if (text.empty()) return false;
  const auto [read, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && read == text.data() + text.size()) return true;
  return fail("a whole number of 32 bits is expected");
}

bool JsonScanner::number(float& out) {
  if (failure_) return false;
  skip_blanks();
  // Most numbers have few digits: their digits and the power of ten are exact floats, so one division rounds once
  // (Clinger, "How to read floating point numbers accurately", 1990).
  size_t i = at_;
  const bool is_negative = i < text_.size() && text_[i] == '-';
  i += is_negative;
  uint32_t mantissa = 0;
  size_t count = 0, behind_point = 0;
  const size_t whole = i;
  for (; i < text_.size() && is_digit(text_[i]) && count <= kDigitsOfFloatMax; ++i, ++count)
    mantissa = mantissa * 10 + static_cast<uint32_t>(text_[i] - '0');
  const bool has_whole = i > whole && (text_[whole] != '0' || i == whole + 1);
  if (has_whole && i < text_.size() && text_[i] == '.') {
    const size_t point = i++;
    for (; i < text_.size() && is_digit(text_[i]) && count <= kDigitsOfFloatMax; ++i, ++count)
      mantissa = mantissa * 10 + static_cast<uint32_t>(text_[i] - '0');
    behind_point = i - point - 1;
    if (behind_point == 0) count = kDigitsOfFloatMax + 1;
  }
  const bool goes_on =
      i < text_.size() && (is_digit(text_[i]) || text_[i] == '.' || text_[i] == 'e' || text_[i] == 'E');
  if (has_whole && !goes_on && count <= kDigitsOfFloatMax) {
    const float value = static_cast<float>(mantissa) / kPowersOfTen[behind_point];
    out = is_negative ? -value : value;
    at_ = i;
    return true;
  }
  const size_t from = at_;
  const std::string_view text = number_text();
  if (text.empty()) return false;
  // from_chars has no value where the number is too small, either; then it is rounded to the nearest, which is 0.
  const auto [read, error] = number_from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && std::isfinite(out)) return true;
  const size_t exponent = text.find_first_of("eE");
  const bool is_small = exponent != std::string_view::npos ? text[exponent + 1] == '-' : text.find('.') <= 2;
  if (error == std::errc::result_out_of_range && is_small) {
    out = is_negative ? -0.0f : 0.0f;
    return true;
  }
  at_ = from;
  return fail("a number beyond float32");
}

bool JsonScanner::number(double& out) {
  const std::string_view text = number_text();
  if (text.empty()) return false;
  const auto [read, error] = number_from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && std::isfinite(out)) return true;
  return fail("a number beyond float64");
}

bool JsonScanner::skip(std::string_view& seen) {
  const char first = peek();
  const size_t from = at_;
  std::string text;
  std::string_view inner;
  bool good = false;
  switch (first) {
    case '{': good = object([&](std::string_view) { return skip(inner); }); break;
    case '[': good = array([&] { return skip(inner); }); break;
    case '"': good = string(text); break;
    case 't': good = literal("true"); break;
    case 'f': good = literal("false"); break;
    case 'n': good = literal("null"); break;
    default: good = !number_text().empty();
  }
  seen = text_.substr(from, at_ - from);
  return good;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[static_cast<uint8_t>(c) >> 4];
      out += kDigits[static_cast<uint8_t>(c) & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace coterie
