// JSON as the header of safetensors has it: objects of strings, numbers and lists, read from the front. There is no
// value that holds any other, so nothing nests deeper than whoever reads asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coterie::model_import {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : rest_(text) {}

  // Whether `sign` comes next, which is then behind us.
  bool take(char sign);
  // A string, unescaped, as UTF-8; none if there is none, if it is over `bytes_max`, or a surrogate stands alone.
  std::optional<std::string> string(size_t bytes_max);
  // A whole number that is not negative, without sign, fraction or exponent.
  std::optional<uint64_t> number();
  bool is_at_end();

 private:
  void skip_blanks();
  bool unescape(std::string& text);
  std::optional<uint32_t> hex4();

  std::string_view rest_;
};

}  // namespace coterie::model_import
