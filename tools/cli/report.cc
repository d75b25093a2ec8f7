#include "tools/cli/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/cli/table.h"

namespace coterie {

void print_error(std::string_view command, const Error& error) {
  std::string text = "coterie " + std::string(command) + ": ";
  // Further lines, as one a mistake, are indented: none can pass for a message of its own.
  std::string_view left = error.message();
  for (bool is_first = true; is_first || !left.empty(); is_first = false) {
    const size_t end = std::min(left.find('\n'), left.size());
    std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (!is_first) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      text += "\n  ";
    }
    text += printable(line);
  }
  text += "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void print_json(const nlohmann::json& json) {
  print_text(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace coterie
