#include "tests/simulation/sessions/session_world.h"

#include <algorithm>
#include <cmath>

#include "tests/simulation/sessions/honest_server.h"
#include "tests/simulation/sessions/hostile_server.h"
#include "tests/simulation/sessions/session_device.h"

namespace coterie::simulation {

SessionWorld::SessionWorld(const SessionOptions& options)
    : options_(options), prng_(Prng::derived(options.seed, 2)), oracle_(options) {
  for (uint32_t who = 0; who < options_.devices; ++who) {
    signers_.push_back(std::move(*make_signer(KeyAlgorithm::ed25519, random_bytes(32))));
    oracle_.enrolled(signers_.back()->public_key(), who >= options_.hostile_devices && who < device_count());
  }
  if (options_.hostile_server) server_ = std::make_unique<HostileServer>(*this);
  else server_ = std::make_unique<HonestServer>(*this);
  for (uint32_t who = 0; who < options_.devices; ++who) {
    const bool is_hostile = who < options_.hostile_devices;
    const Mischief mischief = is_hostile ? draw_mischief(prng_) : Mischief::none;
    devices_.push_back(who < device_count() ? std::make_unique<SessionDevice>(*this, who, mischief) : nullptr);
  }
}

SessionWorld::~SessionWorld() = default;

Bytes SessionWorld::random_bytes(size_t count) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng_.next());
  return bytes;
}

Digest SessionWorld::random_digest() {
  Digest digest;
  for (uint8_t& byte : digest.bytes) byte = static_cast<uint8_t>(prng_.next());
  return digest;
}

secagg::CertificateCheck SessionWorld::certificate_check() const {
  if (options_.mutant == SessionMutant::trusts_anybody) return [](const DeviceIdentity&) { return Status(); };
  return [this](const DeviceIdentity& identity) -> Status {
    const auto is_its = [&](const auto& signer) { return signer->public_key() == identity.public_key; };
    if (std::ranges::any_of(signers_, is_its)) return {};
    return Error(ErrorCode::unauthenticated, "nobody here enrolled it");
  };
}

void SessionWorld::send(std::function<void()> arrive) {
  if (prng_.chance(options_.loss)) return;
  const int copies = prng_.chance(options_.duplication) ? 2 : 1;
  for (int i = 0; i < copies; ++i) queue_.after(some_delay(options_.delay_max), arrive);
}

// Again and again, at exponentially distributed intervals.
void SessionWorld::kill_devices() {
  const Millis mean = options_.device_crash_every;
  if (mean.count() == 0) return;
  const double wait = -std::log(1.0 - prng_.uniform()) * static_cast<double>(mean.count());
  queue_.after(Millis(static_cast<int64_t>(wait) + 1), [this] {
    devices_[prng_.below(device_count())]->crash();
    kill_devices();
  });
}

bool SessionWorld::is_over() const {
  return server_->is_over() &&
         std::ranges::all_of(devices_, [](const auto& device) { return !device || device->is_over(); });
}

SessionVerdict SessionWorld::run() {
  server_->start();
  for (uint32_t who = 0; who < device_count(); ++who) {
    queue_.after(some_delay(options_.start_max), [device = devices_[who].get()] { device->start(); });
  }
  kill_devices();
  const Instant end(options_.ends_within());
  while (!is_over()) {
    if (queue_.now() <= end && queue_.step()) continue;
    oracle_.problem(&SessionVerdict::stuck,
                    server_->is_over() ? "a device came to no end" : "the session came to no end");
    break;
  }
  oracle_.finish();
  SessionVerdict verdict = oracle_.verdict();
  verdict.sessions = 1;
  verdict.hostile = options_.hostile_server;
  verdict.events = queue_.steps();
  if (!verdict.first_problem.empty()) {
    verdict.first_problem = "seed " + std::to_string(options_.seed) + ": " + verdict.first_problem;
  }
  return verdict;
}

}  // namespace coterie::simulation
