#include "tools/cli/report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/cli/table.h"

namespace coterie {

void print_error(std::string_view command, const Error& error) {
  const std::string text = "coterie " + std::string(command) + ": " + printable(error.message()) + "\n";
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
