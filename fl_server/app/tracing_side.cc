#include "fl_server/app/tracing_side.h"

#include "base/os/file.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/version.h"
#include "fl_server/config/server_config.h"
#include "fl_server/tracing/otlp_post.h"
#include "fl_server/tracing/span_exporter.h"

namespace coterie {
namespace {

constexpr size_t kTokenBytesMax = 16 << 10;

// Its first line: a token with a line break would be two headers.
Result<std::string> read_token(const std::string& path) {
  if (path.empty()) return std::string();
  const Result<Bytes> file = os::read_file(path, kTokenBytesMax);
  if (!file) return file.error().with_context("tracing/token_file");
  const std::string text(file->begin(), file->end());
  std::string token = text.substr(0, text.find_first_of("\r\n"));
  if (token.empty())
    return Error(ErrorCode::invalid_argument, path + ": tracing/token_file has no token in its first line");
  return token;
}

}  // namespace

Result<std::unique_ptr<SpanExporter>> begin_tracing(const ServerConfig& config, const std::string& incarnation,
                                                    Observers& observers) {
  if (!config.tracing) return std::unique_ptr<SpanExporter>();
  OtlpCollector collector{.url = config.tracing->otlp_url, .ca_file = config.tracing->ca_file, .token = {}};
  COT_ASSIGN(collector.token, read_token(config.tracing->token_file));
  const auto send = [collector = std::move(collector)](const std::string& body, const std::atomic<bool>& cancelled) {
    return otlp_post(collector, body, cancelled);
  };
  TracedStores stores{.database = config.store.is_shared() ? "postgresql" : "sqlite"};
  if (config.blobs.s3) stores.bucket = config.blobs.s3->bucket;
  auto spans = std::make_unique<SpanExporter>(incarnation, TracedService{.version = kVersion, .node = config.node},
                                              std::move(stores), send, observers.metrics);
  observers.events.subscribe(*spans);
  observers.probes.add(*spans);
  return spans;
}

}  // namespace coterie
