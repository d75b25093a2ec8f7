// JsonScanner: JSON read from front to back, without a tree, for bodies that are mostly numbers. Pure.
//
// Strict (RFC 8259): no comments, no trailing commas, no NaN, strings in UTF-8, nesting at most kNestingMax. The first
// mistake stays: every call after it returns false, and error() says what was wrong and at which byte.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace coterie {

class JsonScanner {
 public:
  static constexpr uint32_t kNestingMax = 32;

  // `text` outlives the scanner.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // The first character of the next value, 0 at the end: '{', '[', '"', a digit or '-', 't', 'f', 'n'.
  char peek();
  // `on_member` is called with each key and consumes its value; false ends the object as a mistake.
  bool object(const std::function<bool(std::string_view key)>& on_member);
  // Likewise with each element.
  bool array(const std::function<bool()>& on_element);
  bool string(std::string& out);
  bool boolean(bool& out);
  bool unsigned_integer(uint64_t& out);
  bool integer32(int32_t& out);
  // Rounded as by strtof; a value beyond float is a mistake.
  bool number(float& out);
  // Rounded to the nearest; a value beyond double is a mistake.
  bool number(double& out);
  // Any value; `seen` is its text.
  bool skip(std::string_view& seen);
  // Nothing but blanks is left.
  bool end();
  // If the next character, blanks aside, is this one, it is consumed.
  bool take(char wanted);

  size_t position() const { return at_; }
  size_t left() const { return text_.size() - at_; }
  // Says what is wrong here; always false.
  bool fail(const std::string& what);
  bool has_failed() const { return failure_.has_value(); }
  // malformed. Precondition: has_failed().
  const Error& error() const { return *failure_; }

 private:
  void skip_blanks();
  bool literal(std::string_view word);
  bool escape(std::string& out);
  bool code_unit(uint32_t& out);
  std::string_view number_text();

  std::string_view text_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  std::optional<Error> failure_;
};

// `text` as a JSON string with its quotes, put behind `out`. Precondition: UTF-8.
void append_json_string(std::string& out, std::string_view text);

}  // namespace coterie
