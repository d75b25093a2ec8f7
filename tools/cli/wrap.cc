#include "tools/cli/wrap.h"

#include <algorithm>

#include "tools/cli/terminal.h"

namespace coterie {

std::string wrapped(const std::string& text, int columns, int indent) {
  std::string result;
  int at = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const int width = width_of(word);
    if (at > 0 && at + 1 + width > columns) {
      result += "\n" + std::string(static_cast<size_t>(indent), ' ') + word;
      at = indent + width;
    } else {
      result += (at == 0 ? "" : " ") + word;
      at += (at == 0 ? 0 : 1) + width;
    }
    begin = end + 1;
  }
  return result;
}

}  // namespace coterie
