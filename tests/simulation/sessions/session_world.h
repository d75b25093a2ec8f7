// SessionWorld: one session of secure aggregation on virtual time: the real client machines in shells that may be
// killed, a bad network, and either the real cohort machine or a server that lies.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "secure/crypto/signature.h"
#include "secure/secagg/advert.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sessions/server_port.h"
#include "tests/simulation/sessions/session_oracle.h"

namespace coterie::simulation {

class SessionDevice;

class SessionWorld {
 public:
  explicit SessionWorld(const SessionOptions& options);
  ~SessionWorld();

  // Until everybody has come to an end, or somebody does not.
  SessionVerdict run();

  // ---- For the actors
  const SessionOptions& options() const { return options_; }
  const secagg::SessionParameters& parameters() const { return options_.parameters; }
  EventQueue& queue() { return queue_; }
  Prng& prng() { return prng_; }
  SessionOracle& oracle() { return oracle_; }
  ServerPort& server() { return *server_; }
  const Signer& signer(uint32_t who) const { return *signers_[who]; }
  // Null for an accomplice: the server plays its part.
  SessionDevice* device(uint32_t who) { return devices_[who].get(); }
  uint32_t device_count() const {
    return options_.devices - options_.accomplices;
  }  // with shells of their own: below it
  // As an app that pins the authority who enrolled these devices.
  secagg::CertificateCheck certificate_check() const;

  Bytes random_bytes(size_t count);
  Digest random_digest();
  Millis some_delay(Millis max) { return Millis(prng_.below(static_cast<uint64_t>(max.count()) + 1)); }
  // Delivers `arrive` after a random delay; perhaps never, perhaps twice.
  void send(std::function<void()> arrive);

 private:
  void kill_devices();
  bool is_over() const;

  SessionOptions options_;
  EventQueue queue_;
  Prng prng_;
  SessionOracle oracle_;
  std::vector<std::unique_ptr<Signer>> signers_;
  std::vector<std::unique_ptr<SessionDevice>> devices_;
  std::unique_ptr<ServerPort> server_;
};

// Runs one session.
inline SessionVerdict simulate_session(const SessionOptions& options) { return SessionWorld(options).run(); }

}  // namespace coterie::simulation
