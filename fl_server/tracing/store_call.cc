#include "fl_server/tracing/store_call.h"

namespace coterie {
namespace {

bool is_of_blobs(std::string_view call) { return call.starts_with("read ") || call.starts_with("write "); }

std::vector<Attribute> attributes_of(const StoreCall& call, const TracedStores& stores) {
  if (!is_of_blobs(call.call)) {
    // Collectors of before 2025 know db.system alone.
    return {{"db.system.name", stores.database},
            {"db.system", stores.database},
            {"db.operation.name", std::string(call.call)}};
  }
  if (!stores.bucket) return {{"coterie.blobs", "directory"}};
  return {{"rpc.system", "aws-api"},
          {"rpc.service", "S3"},
          {"rpc.method", call.call.starts_with("read ") ? "GetObject" : "PutObject"},
          {"aws.s3.bucket", *stores.bucket}};
}

}  // namespace

Span span_of(const StoreCall& call, const TracedStores& stores) {
  const bool is_file = is_of_blobs(call.call) && !stores.bucket;
  return {.name = std::string(call.call),
          .kind = is_file ? SpanKind::internal : SpanKind::client,
          .begin = call.began,
          .end = call.began + call.took,
          .attributes = attributes_of(call, stores)};
}

}  // namespace coterie
