// AdminClient: the operators' REST API: JSON in, JSON or a typed error out.
//
// A problem document (RFC 9457) becomes an Error with the code the server named. Its message is the document's detail
// and, below it, one line for each of its errors: "  /rounds/count: must be in [1, 1000000], is 0". Not thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/admin/connection.h"

namespace coterie {

class HttpsClient;

class AdminClient {
 public:
  // Nothing is sent yet. `cancelled`: set by anybody, ends what is under way with the error `cancelled`.
  static Result<std::unique_ptr<AdminClient>> make(const AdminEndpoint& endpoint, const std::atomic<bool>* cancelled);
  ~AdminClient();

  // `target` is the path below /admin/v1/, with its query.
  Result<nlohmann::json> get(const std::string& target);
  // A list in pages: the answer to `target` (without `after`), with the members of its array `key` from all pages.
  // malformed if a page says next_after and has nothing.
  Result<nlohmann::json> get_pages(const std::string& target, const std::string& key);
  Result<nlohmann::json> post(const std::string& target, const nlohmann::json& body);
  Result<nlohmann::json> post(const std::string& target);
  // `file` is sent as it is: models and data sets.
  Result<nlohmann::json> upload(const std::string& target, ByteView file);
  Status remove(const std::string& target);
  Result<Bytes> download(const std::string& target);
  // Server-sent events: passes on the stream's bytes as they come, from behind `last_id` (empty: from now on), until
  // the server ends it or `sink` fails, whose error it returns. On a connection of its own: `sink` may use this client.
  // timed_out: nothing, and not even a heartbeat, has come for a while.
  Status stream(const std::string& target, const std::string& last_id,
                const std::function<Status(ByteView piece)>& sink);
  // The Prometheus text of /metrics.
  Result<std::string> metrics();

 private:
  AdminClient(const AdminEndpoint& endpoint, const std::atomic<bool>* cancelled, std::unique_ptr<HttpsClient> http);
  Result<Bytes> call(std::string_view method, const std::string& path, std::string_view content_type, ByteView body);

  const AdminEndpoint endpoint_;
  const std::atomic<bool>* cancelled_;
  std::unique_ptr<HttpsClient> http_;
  std::string authorization_;
};

// The error that an answer which is not a success stands for.
Error error_of_answer(int status, std::string_view content_type, std::string_view body);

// `text` as one segment of a path: what a user typed as an id cannot become another route.
std::string path_segment(std::string_view text);

}  // namespace coterie
