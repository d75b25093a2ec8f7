// How the command line tells its user: errors on standard error, results on standard output.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace coterie {

// "coterie demo: <message>"; a message of several lines keeps them.
void print_error(std::string_view command, const Error& error);

void print_json(const nlohmann::json& json);
void print_text(std::string_view text);

}  // namespace coterie
