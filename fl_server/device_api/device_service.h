// DeviceService: what devices may ask. docs/PROTOCOL.md describes it from the other side.
//
//   POST /v1/enrollments                        token and key -> device id
//   POST /v1/checkins                           -> assignment or retry window; may be held
//   GET  /v1/plans/{digest}                     immutable; ranges, ETag
//   GET  /v1/models/{digest}                    immutable; ranges, ETag
//   PUT  /v1/rounds/{round}/updates/{ticket}    an update, or a masked one -> receipt
//   POST /v1/rounds/{round}/session/{ticket}    a message of secure aggregation
//   GET  /v1/rounds/{round}/session/{ticket}/{what}   what the device is to answer next, or a retry window
//   POST /v1/rounds/{round}/session/{ticket}/{what}   both in one
//   GET  /healthz
//
// Everything but enrollment and health is signed by the device (secure/identity/request_signature.h). Nothing else is
// served here: no device can reach an admin route.
#pragma once

#include <atomic>
#include <mutex>

#include "fl_server/net/exchange.h"
#include "fl_server/runtime/body_pool.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/overload_guard.h"
#include "fl_server/store/device_directory.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/signature.h"
#include "secure/identity/replay_guard.h"
#include "secure/identity/ticket.h"

namespace coterie {

struct DeviceServiceSettings {
  Millis clock_skew_max{300'000};
  size_t nonces_max = 200'000;
  uint64_t idle_body_bytes_max = 256ull << 20;
};

struct DeviceServiceParts {
  DevicePlane& plane;
  CohortOwner& cohorts;
  DeviceStore& devices;
  DeviceDirectory& directory;
  BlobStore& blobs;
  const MacKey& ticket_key;
  const Signer& signer;
  OverloadGuard& guard;
};

struct TicketHolder {
  DeviceRecord device;
  RoundKey round;
};

class DeviceService final : public HttpService {
 public:
  DeviceService(DeviceServiceSettings settings, DeviceServiceParts parts)
      : settings_(settings),
        parts_(parts),
        replays_(settings.clock_skew_max, settings.nonces_max),
        bodies_(settings.idle_body_bytes_max) {}

  Awaitable<HttpResponse> handle(Exchange& exchange, std::string_view& route) override;
  HttpResponse refuse(const Error& error, int status) override;

  // Tickets that this key has sealed are taken, too; null: none but those of `ticket_key`. Thread-safe.
  void take_old_tickets(std::shared_ptr<const MacKey> key);

  // Whether there is anybody here to answer. Not while another server leads: devices are told to try again, or
  // elsewhere.
  void set_serving(bool serving) { serving_ = serving; }

 private:
  std::optional<HttpResponse> turn_away(Exchange& exchange, Millis waited, std::string_view& route, Millis& rest);
  Awaitable<HttpResponse> route_request(Exchange& exchange, std::string_view& route);
  Awaitable<HttpResponse> enroll(Exchange& exchange);
  Awaitable<HttpResponse> check_in(Exchange& exchange);
  Awaitable<HttpResponse> put_update(Exchange& exchange, std::string_view round, std::string_view ticket);
  Awaitable<Result<UploadBody>> read_update(Exchange& exchange, const RoundKey& key, const UploadAdmitted& admitted,
                                            RoundTotals& contribution);
  // Secure aggregation: device_session.cc.
  Awaitable<HttpResponse> post_session(Exchange& exchange, std::string_view round, std::string_view ticket,
                                       std::string_view what);
  Awaitable<HttpResponse> answer_question(Exchange& exchange, TicketHolder holder, CohortQuestion question);
  Awaitable<HttpResponse> get_session(Exchange& exchange, std::string_view round, std::string_view ticket,
                                      std::string_view what);
  Awaitable<Result<UploadBody>> read_masked_update(Exchange& exchange, const TicketHolder& holder,
                                                   const UploadAdmitted& admitted, RoundTotals& contribution);
  HttpResponse get_blob(const RequestHead& head, std::string_view digest);

  // The device that signed this request and the attempt it has a ticket for.
  Result<TicketHolder> ticket_holder(const RequestHead& head, std::optional<ByteView> body, std::string_view round,
                                     std::string_view ticket);

  Result<TicketClaims> open_any(ByteView ticket, const DeviceId& holder) const;

  // The device that signed this request. `body` is empty for a request whose body is not covered by the signature.
  Result<DeviceRecord> authenticate(const RequestHead& head, std::optional<ByteView> body);

  DeviceServiceSettings settings_;
  DeviceServiceParts parts_;
  std::mutex replays_mutex_;
  ReplayGuard replays_;
  BodyPool bodies_;
  mutable std::mutex old_key_mutex_;
  std::shared_ptr<const MacKey> old_ticket_key_;
  std::atomic<bool> serving_{false};
};

}  // namespace coterie
