// A text of several pieces by one call: concat({"has ", count, " inputs"}). What joins them by + is as readable and two
// to three times as much code, which counts in messages: there are hundreds, and hardly one of them is ever said.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace coterie {

// A text, which it refers to, or a whole number in decimal digits.
class TextPiece {
 public:
  COT_INLINE TextPiece(const char* text) : TextPiece(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  COT_INLINE TextPiece(std::string_view text) : text_(text.data()), size_(text.size()) {}    // NOLINT
  COT_INLINE TextPiece(const std::string& text) : text_(text.data()), size_(text.size()) {}  // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  COT_INLINE TextPiece(T number)  // NOLINT
      : text_(std::signed_integral<T> ? kSigned : kUnsigned), size_(static_cast<uint64_t>(number)) {}

  void append_to(std::string& text) const;

 private:
  static const char kSigned[], kUnsigned[];

  const char* text_;  // or one of the two above
  uint64_t size_;     // or the number
};

std::string concat(std::initializer_list<TextPiece> pieces);

}  // namespace coterie
