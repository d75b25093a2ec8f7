// DeviceApi: the device plane's requests, one call each: frames out, frames in, signatures made, errors understood.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "device_sdk/client/participant_machine.h"
#include "device_sdk/client/transport.h"
#include "secure/crypto/signature.h"
#include "secure/identity/request_signature.h"

namespace coterie {

// A model that devices are to use.
struct ReleasedModel {
  JobId job;
  ModelVersion version;
  Digest digest;
  uint64_t bytes = 0;
};

class DeviceApi {
 public:
  // Both outlive the API. Not thread-safe.
  DeviceApi(Transport& transport, const Signer& signer) : transport_(transport), signer_(signer) {}

  // The server's keys, pinned: who holds one says what the time is (secure/identity/server_time.h). Without one nobody
  // does.
  void trust(const PinnedKeys& server_keys) { server_keys_ = server_keys; }
  // What answers since the last call said of the server's next keys, if it is news to whoever trusts the keys of now.
  std::vector<KeyStatement> take_key_statements() { return std::exchange(key_statements_, {}); }
  // By how much the server's clock is ahead of this device's: 0 until it was said, with an assignment or a refusal.
  Millis server_ahead() const { return server_ahead_; }
  void set_server_ahead(Millis ahead) { server_ahead_ = ahead; }  // as learned before
  // What requests are signed at, and what an assignment's not_after is compared with.
  WallTime server_now() const;

  Outcome<EnrollReply> enroll(const std::string& token, const std::string& sdk_version);
  std::variant<Assignment, RetryWindow, Failure> check_in(const DeviceId& device, const CheckinRequest& request);
  Outcome<Bytes> fetch_plan(const DeviceId& device, const Digest& plan, uint32_t bytes_max);
  // The authority's list of revoked certificates, unverified, if the server has one after that of `number`; not_found
  // if it has none.
  Outcome<Bytes> fetch_revocations(const DeviceId& device, uint64_t number);
  // What shows that one head of the log of this device's population goes on from the other.
  Outcome<LogProof> fetch_log_proof(const DeviceId& device, const LogStep& step);
  // The model's bytes from `offset` on, to `sink` with status 206; a server that cannot do ranges sends all of them,
  // with status 200. Returns how many came.
  Outcome<uint64_t> fetch_model(const DeviceId& device, const Digest& model, uint64_t offset, const BodySink& sink);
  // What this device is to use now; not_found: nothing yet. Unsigned: TLS alone vouches for it.
  Outcome<ReleasedModel> released_model(const DeviceId& device);
  // A plain or a masked update's frame.
  Outcome<Receipt> upload(const DeviceId& device, const Assignment& assignment, ByteView update);

  // Secure aggregation: this device's message, the same as often as need be; what went wrong, if something did.
  std::optional<Failure> send_to_session(const DeviceId& device, const Assignment& assignment, ByteView message);
  // The server's message of this name (docs/PROTOCOL.md), unverified, or when to ask again. The server may hold the
  // request. With a message of this device's: sends it first, in the same request; the server has it unless this is a
  // Failure.
  std::variant<Bytes, RetryWindow, Failure> ask_session(const DeviceId& device, const Assignment& assignment,
                                                        std::string_view what, std::optional<ByteView> message = {});

 private:
  static constexpr size_t kMessageBytesMax = 256 * 1024;

  struct Answer {
    TransportResponse head;
    Bytes body;
  };
  // Sends, signed if `device` is given; an answer that is not a success becomes a Failure.
  struct CallOptions {
    bool digest_body = false;
    bool is_check_in = false;
    const BodySink* sink = nullptr;  // takes the body of a success
    size_t answer_bytes_max = kMessageBytesMax;
  };
  Outcome<Answer> call(const DeviceId* device, const TransportRequest& request, CallOptions options);
  // Once, whatever the answer's status is.
  Result<Answer> send(const DeviceId* device, TransportRequest request, const Nonce& nonce, CallOptions options);
  void learn_keys(const TransportResponse& head);
  // Whether the answer says, to the request of this nonce, what the time is.
  bool learn_time(const TransportResponse& head, const Nonce& nonce);

  Transport& transport_;
  const Signer& signer_;
  PinnedKeys server_keys_;
  std::vector<KeyStatement> key_statements_;
  Millis server_ahead_{0};
  WallTime checked_in_{};  // when the last check-in that was answered was signed
};

}  // namespace coterie
