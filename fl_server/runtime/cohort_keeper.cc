#include "fl_server/runtime/cohort_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/runtime/finalize_task.h"
#include "fl_server/runtime/revocations.h"
#include "fl_server/store/accept_store.h"
#include "fl_server/store/ledger_store.h"
#include "fl_server/telemetry/metrics.h"
#include "secure/crypto/random.h"
#include "secure/identity/certificate_judge.h"

namespace coterie {
namespace {

// Not for safety, as devices ask their authority themselves: for the others of a cohort, whom a stranger would end it
// for.
secagg::CertificateCheck identity_check(const RoundSchedulerSettings& settings, const Population& population) {
  if (settings.authority_key.empty()) return [](const DeviceIdentity&) { return Status(); };
  return
      [key = settings.authority_key, revocations = settings.revocations, population](const DeviceIdentity& identity) {
        const auto newest = revocations ? revocations->newest() : nullptr;
        return judge_certificate(identity, {.authority_key = key,
                                            .population = population,
                                            .now = os::wall_now(),
                                            .list = newest ? &newest->list : nullptr,
                                            .asks_for_list = false});
      };
}

// The call's own entry, which its one answer takes with it.
template <typename Answers>
auto take(Answers& answers, CohortCall call) {
  const auto entry = answers.find(call);
  COT_INVARIANT(entry != answers.end(), "a call of a device is answered once");
  return std::move(answers.extract(entry).mapped());
}

}  // namespace

void CohortKeeper::step(const LiveEvent& event) {
  LiveEffects effects = attempts_.step(event, os::monotonic_now());
  for (LiveEffect& effect : effects) std::visit([this](auto& e) { perform(e); }, effect);
}

void CohortKeeper::serve(const ServePublished& served) {
  std::vector<uint64_t> ring_seeds(LiveAttempts::seeds_needed(served));
  std::ranges::generate(ring_seeds, random_u64);
  step(AttemptServed{served, std::move(ring_seeds), identity_check(settings_, served.round.notice.population)});
}

// ---- Devices

void CohortKeeper::cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                                  Taken answer) {
  loops_.core.post([this, key, device, public_key = std::move(public_key), message = std::move(message),
                    answer = std::move(answer)]() mutable {
    const CohortCall call(++last_call_);
    taken_.emplace(call, std::move(answer));
    step(DeviceCalled{key, CohortMessageCame{call, device, std::move(public_key), std::move(message)}});
  });
}

void CohortKeeper::cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                              Asked answer) {
  loops_.core.post([this, key, device, question, hold, answer = std::move(answer)]() mutable {
    const CohortCall call(++last_call_);
    asked_.emplace(call, std::move(answer));
    step(DeviceCalled{key, CohortAsked{call, device, question, hold}});
  });
}

void CohortKeeper::cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input, Taken answer) {
  loops_.core.post([this, key, device, input = std::move(input), answer = std::move(answer)]() mutable {
    const CohortCall call(++last_call_);
    taken_.emplace(call, std::move(answer));
    step(DeviceCalled{key, MaskedInputCame{call, device, std::move(input)}});
  });
}

void CohortKeeper::perform(AnswerTaken& effect) { take(taken_, effect.call)(std::move(effect.taken)); }

void CohortKeeper::perform(AnswerAsked& effect) { take(asked_, effect.call)(std::move(effect.reply)); }

// ---- The store

void CohortKeeper::perform(const ListRows& effect) {
  loops_.store.post([this, key = effect.key] {
    loops_.core.post([this, listed = RowsListed{key, parts_.accepts.list_accepted(key)}] { step(listed); });
  });
}

void CohortKeeper::perform(const ListForSum& effect) {
  loops_.store.post([this, effect] {
    loops_.core.post([this, effect, accepted = survivors_of(effect)] {
      if (accepted && !effect.serial) os::crash_point(os::CrashPoint::cohorts_before_unmasking);
      step(SurvivorsOf{effect.key, {effect.serial, accepted}});
    });
  });
}

// On the store's thread: who is accepted in a round that is frozen there.
Result<std::vector<DeviceId>> CohortKeeper::survivors_of(const ListForSum& asked) const {
  if (asked.reserves) {
    NoiseSalt unused;  // the server draws no noise
    fill_random(unused.mutable_bytes());
    COT_TRY(parts_.ledger.reserve_release(asked.key, unused, os::wall_now()));
  }
  return parts_.accepts.list_accepted(asked.key);
}

// ---- The sum

void CohortKeeper::perform(const FinalizeNow& effect) {
  if (effect.sum) count_dropped(*effect.sum->cohorts);
  loops_.pool.post([this, asked = effect] {
    FinalizeDone done{.serial = asked.serial,
                      .job = asked.request.job.id,
                      .key = asked.request.round.key,
                      .is_masked = asked.sum.has_value(),
                      .round = finalize_now(asked, parts_, loops_.pool)};
    loops_.core.post([this, done = std::move(done)] { step(done); });
  });
}

// For cohorts that are ready: who vanished in which phase, and which of them came to nothing.
void CohortKeeper::count_dropped(const RoundCohorts& cohorts) const {
  for (const Error& reason : cohorts.left_out()) parts_.metrics.session_failed(reason.reason());
  for (const secagg::Server* session : cohorts.sessions()) {
    uint32_t present = 0;
    for (uint32_t device = 0; device < session->size(); ++device) present += session->is_present(device);
    const auto survivors = static_cast<uint32_t>(session->survivors().size());
    parts_.metrics.devices_dropped("share", session->size() - present);
    parts_.metrics.devices_dropped("mask", present - survivors);
    parts_.metrics.devices_dropped("unmask", survivors - session->answered());
  }
}

// ---- Logs and counts

void CohortKeeper::perform(const NoteNotBegun& effect) {
  log(LogLevel::error, "cohorts_not_begun", {{"job", effect.job.value()}, {"reason", effect.why.message()}});
}

void CohortKeeper::perform(const NoteFailed& effect) { parts_.metrics.session_failed(effect.why.reason()); }

void CohortKeeper::perform(const NoteUnknownInput& effect) {
  log(LogLevel::warning, "masked_input_unknown", {{"reason", effect.why.message()}});
}

}  // namespace coterie
