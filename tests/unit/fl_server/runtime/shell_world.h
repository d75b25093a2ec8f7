// What a shell of whoever leads works on: stores in memory, a log of events, and its threads, on which a test waits for
// what it has asked for.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fl_server/events/event_hub.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/finalize/round_noise.h"
#include "fl_server/runtime/round_scheduler_parts.h"
#include "fl_server/runtime/work_loops.h"
#include "fl_server/telemetry/metrics.h"
#include "proto/codec/codec.h"
#include "secure/crypto/signature.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_training_store.h"

namespace coterie::test {

class ShellWorld : private EventSubscriber {
 public:
  ShellWorld() {
    events.subscribe(*this);
    loops.start(1, {}, {});
  }
  ~ShellWorld() { loops.stop(); }

  // A job of three values, whose plan is stored, and its first round, which selects.
  JobRecord create_job(SecurityLevel level = SecurityLevel::none) {
    JobRecord job;
    job.id = JobId("j");
    job.value_count = 3;
    job.spec.common.population = Population("p");
    job.spec.horizontal().privacy.level = level;
    job.spec.horizontal().rounds.count = 2;
    ModelRecord base;
    base.job = job.id;
    EXPECT_OK(store.create_job(job, base));
    return job;
  }
  RoundRecord open_round(const JobRecord& job) {
    return store.open_round(job.id, {1, std::nullopt, Attempt(1), store.load_progress(job.id)->head}, WallTime())
        .value();
  }
  void move(const RoundKey& key, RoundState from, RoundState to) {
    EXPECT_TRUE(store.move_round({key, from, to, "", 1}, WallTime()).value());
  }
  // A row, and the blob of its partial sum.
  void accept(const RoundKey& key, const DeviceId& device) {
    const Digest blob = *partials.put(Bytes(8, device.bytes[0]));
    const PartialRecord partial{"node/" + std::to_string(device.bytes[0]), key, {.updates = 1, .weight = 1}, blob};
    EXPECT_TRUE(std::holds_alternative<BatchDone>(store.accept_batch(partial, {{device}})));
  }

  // On the core, done when this returns.
  void at_core(const std::function<void()>& work) { on(loops.core, work); }
  // Until what was asked of pool and store has been answered on the core, and what came of that, too.
  void settle() {
    for (int hop = 0; hop < 3; ++hop) {
      on(loops.pool, [] {});
      on(loops.store, [] {});
      on(loops.core, [] {});
    }
  }
  // Kinds of the events since the last call.
  std::vector<std::string> take_events() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_, {});
  }

  MemoryTrainingStore store;
  MemoryBlobStore blobs, partials;
  Metrics metrics{"test"};
  EventHub events{"00000000000000aa"};
  MacKey noise_key;
  RoundNoiseMaker noise{noise_key};
  Finalizer finalizer{store, store, blobs, partials, noise, {}};
  std::unique_ptr<Signer> signer = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 7));
  WorkLoops loops;
  const RoundSchedulerParts parts{store, store, store, store, blobs, partials, finalizer, *signer, metrics, events};

 private:
  void happened(const Event& event) override {
    const std::lock_guard lock(mutex_);
    heard_.emplace_back(event::kind(event.what));
  }
  template <typename Loop>
  static void on(Loop& loop, const std::function<void()>& work) {
    std::promise<void> done;
    loop.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::mutex mutex_;
  std::vector<std::string> heard_;
};

inline DeviceId device(uint8_t index) {
  DeviceId id;
  id.bytes[0] = index;
  return id;
}

}  // namespace coterie::test
