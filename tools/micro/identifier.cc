#include "tools/micro/identifier.h"

#include <algorithm>

namespace coterie {
namespace {

// By hand: what isalpha() says depends on the locale.
bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string identifier(std::string_view name, size_t size_max, bool keeps_capitals) {
  constexpr std::string_view kBegin = "model";
  std::string text;
  for (char c : name) {
    if (text.size() == size_max) break;
    if (is_capital(c) && !keeps_capitals) c = static_cast<char>(c - 'A' + 'a');
    const bool is_letter = is_small(c) || is_capital(c);
    if (text.empty() && is_digit(c)) text = std::string(kBegin) + "_";
    if (is_letter || is_digit(c)) text += c;
    else if (!text.empty() && text.back() != '_') text += '_';
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  return text.empty() ? std::string(kBegin) : text;
}

// A file of such a name beside the source would take the place of the compiler's.
constexpr std::string_view kCHeaders[] = {
    "assert", "complex", "ctype",     "errno",  "fenv",   "float",    "inttypes", "iso646",
    "limits", "locale",  "math",      "setjmp", "signal", "stdalign", "stdarg",   "stdatomic",
    "stdbit", "stdbool", "stdckdint", "stddef", "stdint", "stdio",    "stdlib",   "stdnoreturn",
    "string", "tgmath",  "threads",   "time",   "uchar",  "wchar",    "wctype"};
// What those of glibc, newlib and picolibc include by themselves, or an app beside them.
constexpr std::string_view kLibraryHeaders[] = {"alloca",   "endian",  "features", "malloc",  "memory", "newlib",
                                                "picolibc", "pthread", "reent",    "strings", "unistd"};
// No file of Windows has such a name, whatever stands behind the dot.
constexpr std::string_view kDevices[] = {"aux", "con", "nul", "prn"};

constexpr size_t kPrefixMax = 31;

}  // namespace

std::string micro_prefix(std::string_view name) {
  const std::string prefix = identifier(name, kPrefixMax, false);
  const auto is_in = [&](const auto& names) { return std::ranges::count(names, prefix) > 0; };
  return is_in(kCHeaders) || is_in(kLibraryHeaders) || is_in(kDevices) ? prefix + "_model" : prefix;
}

std::string micro_comment(std::string_view name) {
  constexpr size_t kCharactersMax = 64;
  std::string text(name.substr(0, kCharactersMax));
  for (char& c : text) {
    const bool is_plain = is_small(c) || is_capital(c) || is_digit(c) || c == '_' || c == '.' || c == ':' || c == '-';
    if (!is_plain) c = '_';
  }
  return text;
}

std::string MicroNames::unique(std::string_view name) {
  const std::string first = identifier(name, kMicroIdentifierMax, true);
  std::string text = first;
  for (size_t again = 2; !given_.insert(text).second; ++again) text = first + "_" + std::to_string(again);
  return text;
}

}  // namespace coterie
