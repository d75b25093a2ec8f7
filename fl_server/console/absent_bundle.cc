// What a server says at / that was built without the console.
#include "fl_server/console/console_bundle.h"

namespace coterie {
namespace {

constexpr std::string_view kPage =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Coterie</title>\n"
    "<h1>This fl_server was built without its console</h1>\n"
    "<p>Install npm, then build it again: <code>cmake --preset release -DCOTERIE_CONSOLE=ON &amp;&amp; "
    "cmake --build --preset release --target fl_server</code>.</p>\n"
    "<p>The command line has all of it, too: <code>coterie server --help</code>.</p>\n";

}  // namespace

ConsoleBundle console_bundle() { return {.page = as_bytes(kPage), .script = {}, .style = {}}; }

}  // namespace coterie
