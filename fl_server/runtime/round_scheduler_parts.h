// What a process that leads is set to, and what it works on.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/time.h"

namespace coterie {

class AcceptStore;
class BlobStore;
class CanaryFeeder;
class EventHub;
class Finalizer;
class JobStore;
class LedgerStore;
class Metrics;
class Revocations;
class RoundProbe;
class RoundStore;
class Signer;

struct RoundSchedulerSettings {
  Millis ticket_leeway{10'000};  // a ticket outlives its round's deadline by this
  size_t pool_threads = 2;
  // A partial sum that no row names is removed at start once it is so old: where other nodes write them while this one
  // starts, longer than a batch takes to be committed.
  Millis orphan_age_min{0};
  // Ed25519, of whoever certifies devices. Devices that trust it share with nobody in whose cohort there is a stranger:
  // at active and above such a device is not let in. Empty: whoever is enrolled is.
  Bytes authority_key;
  // What that authority has revoked; null: none.
  std::shared_ptr<const Revocations> revocations;
};

// All of it outlives the scheduler.
struct RoundSchedulerParts {
  JobStore& jobs;
  RoundStore& rounds;
  AcceptStore& accepts;
  LedgerStore& ledger;
  BlobStore& blobs;
  BlobStore& partials;
  const Finalizer& finalizer;
  const Signer& signer;
  Metrics& metrics;
  EventHub& events;
  CanaryFeeder* feeder = nullptr;  // null: canaries hear no jobs
  RoundProbe* probe = nullptr;     // null: nobody hears how long calls take
};

}  // namespace coterie
