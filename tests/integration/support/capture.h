// Capture: the requests of devices as they were sent, byte for byte, and what came back: to be sent again, as somebody
// would who has listened, or as a network does that delivers twice.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device_sdk/client/transport.h"
#include "secure/crypto/signature.h"
#include "tests/integration/support/server_process.h"

namespace coterie::integration {

struct CapturedRequest {
  std::string method, target, content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  Bytes body;
  size_t node = 0;  // whom it was sent to
  int status = 0;   // of the answer, 0 for none
  Bytes answer;

  bool is_update() const { return method == "PUT"; }
  std::string header(std::string_view name) const;  // as it was sent; empty if it was not
  // "enrollments", "checkins", "plans", "models", "updates" or "session".
  std::string kind() const;
};

class Capture {
 public:
  // A way to servers[node], and on to the next after a 503, on which everything is noted down. Good while their ports
  // are.
  std::unique_ptr<Transport> way_to(const std::vector<const ServerProcess*>& servers, size_t node);
  std::vector<CapturedRequest> requests() const;
  // From now on called with each request when its answer has come, before whoever sent it goes on; by several threads.
  void on_answer(std::function<void(const CapturedRequest&)> echo) { echo_ = std::move(echo); }

 private:
  class Way;
  mutable std::mutex mutex_;
  std::vector<CapturedRequest> requests_;
  std::function<void(const CapturedRequest&)> echo_;
};

// What sending captured requests again came to.
struct ReplayTally {
  uint64_t sent = 0, unanswered = 0;
  uint64_t receipts = 0;                     // updates that were answered with the receipt of the first time
  uint64_t other_receipts = 0;               // ... with another: a bug
  uint64_t late_receipts = 0;                // ... that was refused, or not answered, the first time
  std::map<std::string, uint64_t> statuses;  // "updates 401" and so on

  ReplayTally& operator+=(const ReplayTally& other);
  uint64_t count(const std::string& status) const;  // of all kinds
};

// The same request as its device would send it again that has had no answer: signed anew.
CapturedRequest signed_anew(const CapturedRequest& captured, const DeviceId& device, const Signer& signer);

// What is done to a request before it is sent again, if anything.
using BeforeReplay = std::function<CapturedRequest(const CapturedRequest&)>;

// Sends `count` of them, one after the other and again from the first, over `connections` connections at once.
ReplayTally replay(const ServerProcess& server, const std::vector<CapturedRequest>& requests, uint64_t count,
                   size_t connections, const BeforeReplay& before = {});

}  // namespace coterie::integration
