#include "tools/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace coterie {
namespace {

constexpr int kColumnsMin = 20;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;  // the first that is set decides
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
  }
  return false;
}

// The length of the escape sequence `text` begins with (ESC [ ... letter); 0 if it begins with none.
size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end == text.npos ? text.size() : end + 1;
}

bool continues_a_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

Terminal Terminal::of(std::FILE* stream) {
  Terminal terminal;
  const int fd = ::fileno(stream);
  if (::isatty(fd) == 0) return terminal;
  const std::string_view term = environment("TERM");
  terminal.is_live = !term.empty() && term != "dumb";
  terminal.has_colour = terminal.is_live && environment("NO_COLOR").empty();
  terminal.has_unicode = terminal.is_live && is_utf8_locale();
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.columns = std::max<int>(size.ws_col, kColumnsMin);
  return terminal;
}

std::string Terminal::styled(std::string_view code, std::string_view text) const {
  if (!has_colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string fit(std::string_view text, int columns) {
  std::string kept;
  bool cut = false;
  while (!text.empty()) {
    size_t length = escape_length(text);
    if (length == 0) {
      length = 1;
      while (length < text.size() && continues_a_character(text[length])) ++length;
      cut |= columns-- <= 0;
      if (cut) {
        text.remove_prefix(length);
        continue;
      }
    }
    kept += text.substr(0, length);  // escape sequences behind the cut, too: the last one ends the colour
    text.remove_prefix(length);
  }
  return kept;
}

int width_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const size_t escape = escape_length(text);
    if (escape == 0 && !continues_a_character(text.front())) ++columns;
    text.remove_prefix(escape == 0 ? 1 : escape);
  }
  return columns;
}

}  // namespace coterie
