#include "tests/integration/support/capture.h"

#include <thread>

#include "base/os/clock.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"
#include "secure/identity/request_signature.h"
#include "tests/integration/support/raw_device.h"

namespace coterie::integration {
namespace {

Result<TransportResponse> send_collecting(Transport& way, const TransportRequest& request, Bytes& answer) {
  return way.send(request, [&](const TransportResponse&, ByteView piece) -> Status {
    answer.insert(answer.end(), piece.begin(), piece.end());
    return {};
  });
}

ReplayTally send_again(Transport& way, const CapturedRequest& captured) {
  Bytes answer;
  const auto head = send_collecting(way,
                                    {.method = captured.method,
                                     .target = captured.target,
                                     .headers = captured.headers,
                                     .content_type = captured.content_type,
                                     .body = captured.body},
                                    answer);
  ReplayTally tally;
  tally.sent = 1;
  if (!head) {
    tally.unanswered = 1;
    return tally;
  }
  tally.statuses[captured.kind() + " " + std::to_string(head->status)] = 1;
  if (!captured.is_update() || head->status != 200) return tally;
  const bool is_first = captured.status != 200;
  tally.late_receipts = is_first;
  tally.receipts = !is_first && answer == captured.answer;
  tally.other_receipts = !is_first && answer != captured.answer;
  return tally;
}

}  // namespace

std::string CapturedRequest::kind() const {
  if (target.find("/updates/") != std::string::npos) return "updates";
  if (target.find("/session/") != std::string::npos) return "session";
  const std::string path = target.substr(std::string("/v1/").size());
  return path.substr(0, path.find('/'));
}

std::string CapturedRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

class Capture::Way final : public Transport {
 public:
  Way(Capture& capture, const std::vector<const ServerProcess*>& servers, size_t node)
      : capture_(capture), node_(node) {
    for (const ServerProcess* server : servers) clients_.push_back(connect_to(server->device_url(), server->ca_pem()));
  }

  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override {
    Result<TransportResponse> answer = Error(ErrorCode::unavailable, "no server answers");
    for (size_t i = 0; i < clients_.size(); ++i) {
      answer = send_to((node_ + i) % clients_.size(), request, sink);
      if (answer && answer->status != 503) break;
    }
    return answer;
  }

 private:
  Result<TransportResponse> send_to(size_t node, const TransportRequest& request, const BodySink& sink) {
    CapturedRequest captured{.method = std::string(request.method),
                             .target = request.target,
                             .content_type = std::string(request.content_type),
                             .headers = request.headers,
                             .body = Bytes(request.body.begin(), request.body.end()),
                             .node = node,
                             .answer = {}};
    const auto both = [&](const TransportResponse& head, ByteView piece) -> Status {
      captured.answer.insert(captured.answer.end(), piece.begin(), piece.end());
      return sink(head, piece);
    };
    Result<TransportResponse> answer = clients_[node]->send(request, both);
    if (answer) captured.status = answer->status;
    if (capture_.echo_) capture_.echo_(captured);
    const std::lock_guard lock(capture_.mutex_);
    capture_.requests_.push_back(std::move(captured));
    return answer;
  }

  Capture& capture_;
  std::vector<std::unique_ptr<HttpsClient>> clients_;
  size_t node_;
};

std::unique_ptr<Transport> Capture::way_to(const std::vector<const ServerProcess*>& servers, size_t node) {
  return std::make_unique<Way>(*this, servers, node);
}

std::vector<CapturedRequest> Capture::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

ReplayTally& ReplayTally::operator+=(const ReplayTally& other) {
  sent += other.sent;
  unanswered += other.unanswered;
  receipts += other.receipts;
  other_receipts += other.other_receipts;
  late_receipts += other.late_receipts;
  for (const auto& [status, count] : other.statuses) statuses[status] += count;
  return *this;
}

uint64_t ReplayTally::count(const std::string& status) const {
  uint64_t total = 0;
  for (const auto& [name, count] : statuses) total += name.ends_with(" " + status) ? count : 0;
  return total;
}

CapturedRequest signed_anew(const CapturedRequest& captured, const DeviceId& device, const Signer& signer) {
  SignedRequest to_sign{captured.method, captured.target, captured.body.size(), std::nullopt};
  if (!captured.header("Coterie-Digest").empty()) to_sign.digest = content_digest(captured.body);
  Nonce nonce;
  fill_random(nonce);
  const Result<RequestClaims> claims = sign_request(to_sign, device, os::wall_now(), nonce, signer);
  COT_ASSERT(claims.has_value());
  CapturedRequest again = captured;
  for (auto& [name, value] : again.headers) {
    if (name == "Coterie-Time") value = std::to_string(unix_ms(claims->time));
    if (name == "Coterie-Nonce") value = to_hex(nonce);
    if (name == "Coterie-Signature") value = to_base64url(claims->signature);
  }
  return again;
}

ReplayTally replay(const ServerProcess& server, const std::vector<CapturedRequest>& requests, uint64_t count,
                   size_t connections, const BeforeReplay& before) {
  std::vector<ReplayTally> tallies(connections);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < connections; ++t) {
    threads.emplace_back([&, t] {
      const auto way = connect_to(server.device_url(), server.ca_pem());
      for (uint64_t i = t; i < count; i += connections) {
        const CapturedRequest& request = requests[i % requests.size()];
        tallies[t] += send_again(*way, before ? before(request) : request);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ReplayTally sum;
  for (const ReplayTally& tally : tallies) sum += tally;
  return sum;
}

}  // namespace coterie::integration
