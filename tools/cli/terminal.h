// Terminal: what the stream we print to can show.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace coterie {

struct Terminal {
  bool is_live = false;  // a line may be written over: a terminal that understands carriage returns
  bool has_colour = false;
  bool has_unicode = false;
  int columns = 80;

  // Asks isatty, NO_COLOR (https://no-color.org), TERM=dumb, the locale's variables and the window's size of `stream`.
  static Terminal of(std::FILE* stream);

  // `text` in a style, or as it is where colours are unwanted. Colour is never the only signal.
  std::string bold(std::string_view text) const { return styled("1", text); }
  std::string dim(std::string_view text) const { return styled("2", text); }
  std::string green(std::string_view text) const { return styled("32", text); }
  std::string red(std::string_view text) const { return styled("31", text); }

 private:
  std::string styled(std::string_view code, std::string_view text) const;
};

// The first `columns` columns of `text` (UTF-8, one column a character; escape sequences count nothing).
std::string fit(std::string_view text, int columns);

// Columns of `text`, by the same rule.
int width_of(std::string_view text);

}  // namespace coterie
