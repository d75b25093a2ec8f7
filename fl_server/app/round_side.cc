#include "fl_server/app/round_side.h"

#include "fl_server/app/observers.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/server_config.h"
#include "fl_server/evaluation/model_evaluator.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/finalize/round_noise.h"
#include "fl_server/runtime/canary_feeder.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

constexpr Millis kOrphanAgeMin{3'600'000};  // of a fleet: a batch is committed within minutes, or never

}  // namespace

RoundSide::RoundSide(const ServerConfig& config, const ServerKeys& keys, ServerStores& stores, Observers& observers)
    : noise_(std::make_unique<RoundNoiseMaker>(keys.noise)) {
  SqlTrainingStore& training = stores.training();
  finalizer_ = std::make_unique<Finalizer>(training, training, stores.blobs(), stores.partials(), *noise_,
                                           &evaluate_model, &observers.probes);
  feeder_ = std::make_unique<CanaryFeeder>(
      CanaryFeeder::Parts{training, training, training, stores.blobs(), observers.events});
  const RoundSchedulerSettings settings{.pool_threads = config.threads,
                                        .orphan_age_min = config.store.is_shared() ? kOrphanAgeMin : Millis(0),
                                        .authority_key = config.authority_key,
                                        .revocations = keys.revocations};
  scheduler_ = std::make_unique<RoundScheduler>(settings, RoundSchedulerParts{.jobs = training,
                                                                              .rounds = training,
                                                                              .accepts = training,
                                                                              .ledger = training,
                                                                              .blobs = stores.blobs(),
                                                                              .partials = stores.partials(),
                                                                              .finalizer = *finalizer_,
                                                                              .signer = *keys.signer,
                                                                              .metrics = observers.metrics,
                                                                              .events = observers.events,
                                                                              .feeder = feeder_.get(),
                                                                              .probe = &observers.probes});
}

RoundSide::~RoundSide() = default;

}  // namespace coterie
