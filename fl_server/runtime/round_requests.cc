#include "fl_server/runtime/round_requests.h"

#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/finalize/finished_partials.h"
#include "fl_server/runtime/canary_feeder.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/round_store.h"
#include "fl_server/telemetry/round_probe.h"

namespace coterie {

// Runs `work` (returning a Result) on the store's thread and has the job's machine stepped with it as an Answer.
template <typename Answer, typename Work>
void RoundRequests::ask_store(const JobId& job, uint64_t serial, Work work) {
  loops_.store.post([this, job, serial, work = std::move(work)] {
    auto result = work();
    if (!result && result.error().code() != ErrorCode::conflict) {
      log(LogLevel::warning, "store_failed", {{"job", job.value()}, {"reason", result.error().message()}});
    }
    loops_.core.post([this, job, serial, result = std::move(result)] { calls_.answer(job, Answer{serial, result}); });
  });
}

template <typename Work>
auto RoundRequests::probed(const char* call, const RoundKey& key, Work work) const {
  return [probe = parts_.probe, call, key, work = std::move(work)] {
    const ProbedCall probing(probe);
    auto result = work();
    probing.returned(key, call);
    return result;
  };
}

void RoundRequests::ask(const JobId& job, uint64_t number, const AskRound& asked) {
  struct Visitor {
    RoundRequests& self;
    const JobId& job;
    uint64_t number;
    uint64_t serial;
    const RoundSchedulerParts& stores = self.parts_;

    void operator()(const LoadProgress&) {
      self.ask_store<ProgressLoaded>(job, serial, [&s = stores.rounds, job = job] { return s.load_progress(job); });
    }
    void operator()(const OpenRound& open) {
      self.ask_store<RoundOpened>(job, serial, [&c = self, job = job, open] {
        const ProbedCall probing(c.parts_.probe);
        Result<RoundRecord> opened = c.parts_.rounds.open_round(job, open, os::wall_now());
        if (!opened) return opened;
        c.tell_opened(job, *opened);  // first: what nobody has heard of has no calls
        probing.returned(opened->key, "open round");
        return opened;
      });
    }
    void operator()(const CountAccepted& count) {
      self.ask_store<AcceptedCounted>(job, serial,
                                      self.probed("count accepted", count.key, [&s = stores.accepts, count] {
                                        return s.count_accepted(count.key);
                                      }));
    }
    void operator()(const MoveRound& move) {
      if (move.to == RoundState::failed) {
        stores.events.add(job, event::RoundFailed{{move.key, number}, move.reason});
      }
      self.ask_store<RoundMoved>(job, serial, self.probed("move round", move.key, [&s = stores.rounds, move] {
        return s.move_round(move, os::wall_now());
      }));
    }
    void operator()(const FinalizeRound& finalize) { self.calls_.finalize({serial, finalize}); }
    void operator()(const CommitRound& commit) {
      const RoundKey key = commit.round.key;
      self.ask_store<RoundCommitted>(job, serial, self.probed("commit round", key, [&c = self, job = job, commit] {
        Result<JobProgress> progress = c.parts_.rounds.commit_round(job, commit, os::wall_now());
        if (progress) c.tell_committed(commit, *progress);
        return progress;
      }));
    }
    void operator()(const FailJob& fail) {
      stores.events.add(job, event::JobFailed{fail.reason});
      self.ask_store<JobFailed>(job, serial, [&s = stores.jobs, job = job, fail] {
        const Result<JobRecord> done = s.set_job_state(job, JobState::failed, fail.reason);
        return done ? Status() : Status(done.error());
      });
    }
  };
  std::visit(Visitor{*this, job, number, asked.serial}, asked.request);
}

// On the store's thread, as the next. An attempt that was opened before, by this process or another, and has gone on
// since is no news.
void RoundRequests::tell_opened(const JobId& job, const RoundRecord& round) const {
  if (round.state == RoundState::selecting) parts_.events.add(job, event::RoundOpened{{round.key, round.number}});
}

void RoundRequests::tell_committed(const CommitRound& request, const JobProgress& progress) {
  os::crash_point(os::CrashPoint::round_committed);
  const JobId& job = progress.job.id;
  const ModelRecord& model = request.round.model;
  parts_.events.add(job, event::RoundDone{.round = {request.round.key, request.number},
                                          .updates = request.round.totals.updates,
                                          .version = model.version,
                                          .evaluation_loss = model.evaluation_loss,
                                          .evaluation_accuracy = model.evaluation_accuracy,
                                          .evaluation_mae = model.evaluation_mae,
                                          .evaluation_r2 = model.evaluation_r2,
                                          .evaluation_heads = model.evaluation_heads,
                                          .watch = model.watch});
  if (request.completes_job) parts_.events.add(job, event::JobCompleted{request.number});
  if (request.opens_next && progress.latest) tell_opened(job, *progress.latest);
  if (parts_.feeder != nullptr) parts_.feeder->feed(job);
  loops_.core.post([this] { clean_up_partials(); });
}

void RoundRequests::feed_canaries() {
  if (parts_.feeder == nullptr) return;
  loops_.store.post([&feeder = *parts_.feeder] { feeder.feed_all(); });
}

void RoundRequests::clean_up_partials() {
  loops_.store.post([this] { remove_finished_partials(parts_.accepts, parts_.partials); });
}

}  // namespace coterie
