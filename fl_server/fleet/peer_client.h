// PeerClient: requests from one server of a fleet to another, over TLS with certificates on both sides. One thread
// carries any number of requests at a time (libcurl's multi interface), on connections that are kept.
//
// That a certificate is of the fleet's own authority is what is asked for, not a name: the authority certifies nobody
// else, and nodes come and go with their addresses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct PeerCredentials {
  std::string certificate_file;
  std::string key_file;
  std::string ca_file;
};

struct PeerRequest {
  std::string url;  // https
  std::vector<std::pair<std::string, std::string>> headers;
  Bytes body;  // POSTed
  Millis timeout{10'000};
};

struct PeerAnswer {
  int status = 0;
  std::string cohort_size;  // the header Coterie-Cohort-Size
  Bytes body;
};

class PeerClient {
 public:
  static constexpr uint64_t kAnswerBytesMax = 64ull << 20;
  static constexpr size_t kRequestsMax = 50'000;

  static Result<std::unique_ptr<PeerClient>> start(PeerCredentials credentials);
  ~PeerClient();

  // `done` is called once, on this class's thread, and must only hand the answer on. unavailable: nobody answered.
  void send(PeerRequest request, std::function<void(Result<PeerAnswer>)> done);
  // Every request that is still out fails with cancelled.
  void stop();

 private:
  struct Parts;
  explicit PeerClient(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace coterie
