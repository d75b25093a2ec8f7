// DeviceApi: the device plane's requests, one call each: frames out, frames in, signatures made, errors understood.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "device_sdk/client/participant_machine.h"
#include "device_sdk/client/transport.h"
#include "secure/crypto/signature.h"

namespace coterie {

class DeviceApi {
 public:
  // Both outlive the API. Not thread-safe.
  DeviceApi(Transport& transport, const Signer& signer) : transport_(transport), signer_(signer) {}

  Outcome<EnrollReply> enroll(const std::string& token, const std::string& sdk_version);
  std::variant<Assignment, RetryWindow, Failure> check_in(const DeviceId& device, const CheckinRequest& request);
  Outcome<Bytes> fetch_plan(const DeviceId& device, const Digest& plan, uint32_t bytes_max);
  // The model's bytes from `offset` on, to `sink` with status 206; a server that cannot do ranges sends all of them,
  // with status 200. Returns how many came.
  Outcome<uint64_t> fetch_model(const DeviceId& device, const Digest& model, uint64_t offset, const BodySink& sink);
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
    const BodySink* sink = nullptr;  // takes the body of a success
    size_t answer_bytes_max = kMessageBytesMax;
  };
  Outcome<Answer> call(const DeviceId* device, TransportRequest request, CallOptions options);

  Transport& transport_;
  const Signer& signer_;
};

}  // namespace coterie
