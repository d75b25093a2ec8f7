// A simulated scheduler's sessions of secure aggregation: what they are told, and what it hears of them.
#include "tests/simulation/sim_scheduler.h"

namespace coterie::simulation {
namespace {

constexpr Millis kCountAgain{500};

}  // namespace

// Sessions that an earlier leader had are lost: masked updates that were accepted then cannot be opened any more.
void SimScheduler::count_before_sessions(const RoundKey& key) {
  ask_accepted(key, [this, key](const Result<std::vector<DeviceId>>& accepted) {
    if (!counting_ || counting_->notice.key != key) return;
    if (!accepted) {
      return world_.queue().after(kCountAgain, guard([this, key] {
                                    if (counting_ && counting_->notice.key == key) count_before_sessions(key);
                                  }));
    }
    begin_sessions(*std::exchange(counting_, std::nullopt), !accepted->empty());
  });
}

void SimScheduler::begin_sessions(const PublishRound& published, bool has_accepted) {
  const RoundKey key = published.notice.key;
  if (has_accepted) return attempt_lost(key, "the scheduler was started anew while devices aggregated");
  if (const Status begun = cohorts_->begin(published.notice, published.rules); !begun) {
    return world_.oracle().problem(&Verdict::stuck, "no session: " + begun.error().message());
  }
  world_.oracle().sessions_began(key);
  post(published);
}

void SimScheduler::exchange(const RoundKey& key, const DeviceId& device, const Bytes& public_key,
                            std::optional<CohortMessage> told, std::optional<CohortQuestion> asked, Reply reply) {
  guard([this, key, device, public_key, told = std::move(told), asked, reply = std::move(reply)] {
    if (!cohorts_) return reply(Error(ErrorCode::unavailable, "this scheduler does not lead"));
    cohorts_->exchange(key, device, public_key, told, asked, reply);
    arm();
  })();
}

void SimScheduler::arrived(const RoundKey& key, const DeviceId& device, const MaskedInput& input,
                           std::function<void(Status)> reply) {
  guard([this, key, device, input, reply = std::move(reply)] {
    if (!cohorts_) return reply(Error(ErrorCode::unavailable, "this scheduler does not lead"));
    reply(cohorts_->arrived(key, device, input));
    arm();
  })();
}

void SimScheduler::ask_accepted(const RoundKey& key, std::function<void(Result<std::vector<DeviceId>>)> answer) {
  using Returned = Result<std::vector<DeviceId>>;
  world_.ask_store<Returned>(
      reached_from_, [&store = world_.store(), key] { return store.list_accepted(key); },
      [](Error error) { return Returned(std::move(error)); },
      [this, answer = std::move(answer), incarnation = incarnation_](const Returned& accepted) {
        if (incarnation == incarnation_) guard([answer, accepted] { answer(accepted); })();
      });
}

void SimScheduler::updates_expected(const RoundKey& key, uint64_t total) { step(UpdatesExpected{key, total}); }

void SimScheduler::updates_due(const RoundKey& key, uint64_t total) { step(LeadEvent(PostDue{key, total})); }

void SimScheduler::attempt_lost(const RoundKey& key, const std::string& reason) { step(AttemptLost{key, reason}); }

void SimScheduler::opened(uint64_t serial, const FinalizeRound& request, Result<std::shared_ptr<SumMasks>> masks) {
  if (masks) return finalize(serial, request, std::move(*masks));
  // Every session of the sum has shares enough, or it would not be ready.
  world_.oracle().problem(&Verdict::lost, "a masked sum cannot be opened: " + masks.error().message());
  attempt_lost(request.round.key, masks.error().message());
}

}  // namespace coterie::simulation
