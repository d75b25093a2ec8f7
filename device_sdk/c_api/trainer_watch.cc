// coterie_trainer_watch*: what goes wrong while it trains.
#include <algorithm>
#include <string>

#include "device_sdk/c_api/trainer_handle.h"
#include "device_sdk/watch/open_watch.h"

using namespace coterie;

namespace {

static_assert(COTERIE_WATCH_HITS_MAX == kWatchHitsMax);

// What its memory limits leave beside the training.
uint64_t bytes_left(const coterie_trainer& trainer) {
  const TrainingMemory memory = trainer.trainer->memory();
  const auto less = [](uint64_t limit, uint64_t taken) { return limit > taken ? limit - taken : 0; };
  uint64_t left = less(trainer.options.arena_bytes_max, memory.arena_bytes);
  if (trainer.memory_budget_bytes > 0) left = std::min(left, less(trainer.memory_budget_bytes, memory.bytes()));
  return left;
}

Error nothing_watched() { return Error(ErrorCode::conflict, "nothing is watched: coterie_trainer_watch begins it"); }

}  // namespace

Status coterie_trainer::begin_watch(const std::string& asked) {
  const WatchedTraining training{.model = trained(),
                                 .options = options,
                                 .examples = dataset.size(),
                                 .has_lora = lora.has_value(),
                                 .bytes_max = bytes_left(*this)};
  COT_ASSIGN(watch, open_watch(asked, training, trainer->summary()));
  return {};
}

extern "C" {

coterie_status coterie_trainer_watch(coterie_trainer* trainer, const char* watch) {
  return with(trainer, [&]() -> Status {
    if (watch != nullptr) return trainer->begin_watch(watch);
    trainer->watch.reset();
    return {};
  });
}

coterie_status coterie_trainer_watch_summary(coterie_trainer* trainer, coterie_watch_summary* summary) {
  return with(trainer, [&]() -> Status {
    if (summary == nullptr) return null_argument("summary");
    COT_TRY(check_size(*summary, "summary"));
    if (!trainer->watch) return nothing_watched();
    coterie_watch_summary filled{};
    filled.looks = trainer->watch->looks();
    filled.hit_count = trainer->watch->hits().hits().size();
    filled.left_out = trainer->watch->hits().left_out();
    filled.bytes_max = trainer->watch->bytes_max();
    fill_known_part(*summary, filled);
    return {};
  });
}

coterie_status coterie_trainer_watch_hit(coterie_trainer* trainer, size_t index, coterie_watch_hit* hit) {
  return with(trainer, [&]() -> Status {
    if (hit == nullptr) return null_argument("hit");
    COT_TRY(check_size(*hit, "hit"));
    if (!trainer->watch) return nothing_watched();
    const std::vector<WatchHit>& hits = trainer->watch->hits().hits();
    if (index >= hits.size()) {
      return Error(ErrorCode::invalid_argument,
                   "hit " + std::to_string(index) + ", from 0: there are " + std::to_string(hits.size()));
    }
    // Names of checks and settings are literals, which end in a 0.
    const WatchHit& known = hits[index];
    coterie_watch_hit filled{};
    filled.check = known.check.data();
    filled.layer = known.layer.c_str();
    filled.tensor = known.tensor.c_str();
    filled.setting = known.setting.empty() ? "" : known.setting.data();
    filled.comparison = known.comparison.data();
    filled.first_step = known.first_step;
    filled.last_step = known.last_step;
    filled.looks = known.looks;
    filled.value = known.value;
    filled.threshold = known.threshold;
    fill_known_part(*hit, filled);
    return {};
  });
}

}  // extern "C"
