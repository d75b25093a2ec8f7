// DeviceService: what devices may ask. docs/PROTOCOL.md describes it from the other side.
//
// The shell around the table of routes (device_routes.cc): it finds the row, has the request stand in line and turned
// away if there is too much to do, reads who says to have signed it, and calls the row's handler. Nothing but what the
// table has is served here: no device can reach an admin route.
#pragma once

#include <atomic>
#include <mutex>

#include "base/os/clock.h"
#include "fl_server/device_api/device_route.h"
#include "fl_server/net/exchange.h"
#include "fl_server/runtime/body_pool.h"
#include "fl_server/runtime/checkin_order.h"
#include "fl_server/runtime/device_plane.h"
#include "fl_server/runtime/overload_guard.h"
#include "fl_server/runtime/replay_shards.h"
#include "fl_server/runtime/revocations.h"
#include "fl_server/store/device_directory.h"
#include "proto/messages/pinned_keys.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/signature.h"
#include "secure/identity/ticket.h"

namespace coterie {

class CanaryStore;

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
  const Revocations& revocations;
  CanaryStore& canaries;
  CheckinOrder* checkins = nullptr;  // null: no other server is on this one's store, and it remembers nonces
};

struct TicketHolder {
  DeviceRecord device;
  RoundKey round;
  std::optional<HandedModel> handed = {};  // of buffered rounds
};

class DeviceService final : public HttpService {
 public:
  DeviceService(DeviceServiceSettings settings, DeviceServiceParts parts)
      : settings_(settings),
        parts_(parts),
        replays_(settings.clock_skew_max, settings.nonces_max),
        bodies_(settings.idle_body_bytes_max) {}

  Awaitable<RoutedResponse> handle(Exchange& exchange) override;
  HttpResponse refuse(const Error& error, int status) override;

  // Tickets that this key has sealed are taken, too; null: none but those of `ticket_key`. Thread-safe.
  void take_old_tickets(std::shared_ptr<const MacKey> key);

  // What devices are told of the signing keys before and after that of now (secure/identity/signing_keys.h).
  // Thread-safe.
  void take_key_statements(const std::vector<KeyStatement>& statements);

  // Memory that is kept for the next updates goes back to the system. Thread-safe.
  void free_idle_bodies() { bodies_.free_idle(); }

  // Whether there is anybody here to answer. Not while another server leads: devices are told to try again, or
  // elsewhere.
  void set_serving(bool serving) { serving_ = serving; }

  // ---- Handlers, as the table names them
  Awaitable<HttpResponse> get_health(Exchange& exchange, DeviceCall call);
  Awaitable<HttpResponse> enroll(Exchange& exchange, DeviceCall call);    // token and key -> device id
  Awaitable<HttpResponse> check_in(Exchange& exchange, DeviceCall call);  // -> assignment or retry window; may be held
  Awaitable<HttpResponse> get_blob(Exchange& exchange, DeviceCall call);  // immutable; ranges, ETag
  Awaitable<HttpResponse> get_revocations(Exchange& exchange, DeviceCall call);     // the list after that of a number
  Awaitable<HttpResponse> get_log_proof(Exchange& exchange, DeviceCall call);       // of its population's log
  Awaitable<HttpResponse> get_released_model(Exchange& exchange, DeviceCall call);  // its name; get_blob has the file
  Awaitable<HttpResponse> put_update(Exchange& exchange, DeviceCall call);  // an update, or a masked one -> receipt
  // A message of secure aggregation; what the device is to answer next, or a retry window; or both in one.
  Awaitable<HttpResponse> post_session(Exchange& exchange, DeviceCall call);
  Awaitable<HttpResponse> get_session(Exchange& exchange, DeviceCall call);

 private:
  struct Refused {
    RoutedResponse answer;
    Millis rest{0};  // before it is sent
  };
  struct ReceivedUpdate {
    UploadBody body;
    RoundTotals totals;  // what it adds to the round's
  };

  // Before anything is read, verified or looked up.
  std::optional<Refused> turn_away(Exchange& exchange, Work work, Millis waited);
  // The same for work that is always answered: by whoever asks too often, when nobody knows who it is.
  std::optional<Refused> turn_stranger_away(const Exchange& exchange);
  Awaitable<HttpResponse> respond(Exchange& exchange, DeviceRouteMatch match);
  // A request that was signed at another time than now, or before this process began. A device that the server knows
  // hears the time, to sign it anew (server_time.h).
  std::optional<HttpResponse> refuse_time(const RequestClaims& claims) const;
  void say_time(const RequestClaims& claims, HttpResponse& response) const;
  Awaitable<Result<ReceivedUpdate>> read_update(Exchange& exchange, const RoundKey& key,
                                                const UploadAdmitted& admitted);
  // Secure aggregation: device_session.cc.
  Awaitable<HttpResponse> answer_question(Exchange& exchange, TicketHolder holder, CohortQuestion question);
  Awaitable<Result<ReceivedUpdate>> read_masked_update(Exchange& exchange, const TicketHolder& holder,
                                                       const UploadAdmitted& admitted);

  // What a request's signature covers: the head alone, or also the body, by the digest that the head declares.
  enum class Signs : uint8_t { head, body };

  // The device that signed this request and the attempt it has a ticket for.
  Result<TicketHolder> ticket_holder(Exchange& exchange, const DeviceCall& call, Signs signs);

  // What a check-in is refused with that was taken before, by whichever server, or that cannot be judged.
  Awaitable<std::optional<HttpResponse>> refuse_taken(const RequestClaims& claims);
  std::vector<RetiringKey> retiring_keys() const;
  Result<TicketClaims> open_any(ByteView ticket, const DeviceId& holder) const;

  // The device that signed this request: known from its head, before a byte of its body is read.
  Result<DeviceRecord> authenticate(Exchange& exchange, const RequestClaims& claims, Signs signs);
  // The body of a request of Signs::body that authenticate() has passed; unauthenticated if it is not the one signed.
  static Awaitable<Result<RequestBody>> read_signed_body(Exchange& exchange, uint64_t bytes_max);

  DeviceServiceSettings settings_;
  DeviceServiceParts parts_;
  const Instant begun_ = os::monotonic_now();
  ReplayShards replays_;
  BodyPool bodies_;
  mutable std::mutex rotated_mutex_;
  std::shared_ptr<const MacKey> old_ticket_key_;
  std::string key_statements_;              // as text; empty: none
  std::vector<RetiringKey> retiring_keys_;  // as they say
  std::atomic<bool> serving_{false};
};

}  // namespace coterie
