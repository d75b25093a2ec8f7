#include "fl_server/console/console_assets.h"

#include "fl_server/console/console_bundle.h"
#include "fl_server/net/entity_tag.h"

namespace coterie {
namespace {

struct AssetRow {
  ByteView ConsoleBundle::*bytes;
  const char* content_type;
  bool is_gzip;
};

constexpr AssetRow kAssets[] = {
    {&ConsoleBundle::page, "text/html; charset=utf-8", false},
    {&ConsoleBundle::script, "text/javascript; charset=utf-8", true},
    {&ConsoleBundle::style, "text/css; charset=utf-8", true},
};

}  // namespace

HttpResponse console_asset(const RequestHead& head, ConsoleAsset asset) {
  const AssetRow& row = kAssets[static_cast<size_t>(asset)];
  const ConsoleBundle bundle = console_bundle();
  const ByteView bytes = bundle.*row.bytes;
  HttpResponse response;
  response.content_type = row.content_type;
  response.headers = {{"Content-Security-Policy", std::string(kConsolePolicy)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};  // kept, and asked for by its ETag each time
  if (bytes.empty()) {
    response.status = 404;
    return response;
  }
  if (row.is_gzip) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body.assign(bytes.begin(), bytes.end());
  return with_entity_tag(head, std::move(response));
}

}  // namespace coterie
