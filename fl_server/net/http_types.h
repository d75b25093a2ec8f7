// HTTP as plain structs: what the network files hand to the API, and back. No Beast, no Asio.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "fl_server/net/event_source.h"
#include "fl_server/store/blob_store.h"

namespace coterie {

struct RequestHead {
  std::string method;
  std::string path;    // "/v1/checkins": absolute, normalised, without percent signs
  std::string query;   // after the '?', raw
  std::string target;  // as on the request line
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::optional<uint64_t> content_length;
  bool keep_alive = true;
  bool expects_continue = false;

  // The value of the first header of this (lower-case) name; empty if there is none.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

// A stretch of a blob that is streamed from the store.
struct BlobRange {
  std::shared_ptr<const BlobReader> blob;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// The content type of problem documents (RFC 9457), into which the connection puts the trace id.
inline constexpr const char* kProblemType = "application/problem+json";

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/octet-stream";
  std::vector<std::pair<std::string, std::string>> headers;
  Bytes body;
  std::optional<BlobRange> blob;  // instead of body
  std::shared_ptr<EventSource> events =
      {};                  // instead of body: a stream without a length, behind which the connection closes
  bool close = false;      // close the connection afterwards
  bool head_only = false;  // the answer to a HEAD request
};

std::string_view reason_phrase(int status);

// Status line, headers and the empty line. `size` is the body's.
std::string response_head(const HttpResponse& response, uint64_t size);

// "a=1&b=two" as pairs, percent-decoded; malformed if an escape is.
Result<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query);

}  // namespace coterie
