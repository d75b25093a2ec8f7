// The console's files as answers. What a page of ours may do is said here: it loads and asks this origin alone, runs no
// inline script, and stands in no frame.
#pragma once

#include "fl_server/net/http_types.h"

namespace coterie {

enum class ConsoleAsset : uint8_t { page, script, style };

inline constexpr std::string_view kConsolePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// 304 for who has it, 404 for what a build without the console lacks. Script and style are gzip, whatever the client
// says it takes: all browsers do.
HttpResponse console_asset(const RequestHead& head, ConsoleAsset asset);

}  // namespace coterie
