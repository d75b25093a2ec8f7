#include "fl_server/runtime/round_scheduler.h"

#include <algorithm>
#include <variant>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/finalize/orphan_partials.h"
#include "fl_server/privacy/round_plan.h"
#include "fl_server/runtime/open_masks.h"
#include "fl_server/runtime/seconds.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/identity/manifest.h"

namespace coterie {
namespace {

constexpr size_t kCleanUpBatch = 1000;
constexpr Millis kClockLookEvery{1'000};

// The plan of the attempt: the job's with what is the round's, and with the ledger's heads from when it was opened.
Result<RoundPlan> make_plan(const RoundSchedulerParts& parts, const RoundNotice& notice) {
  COT_ASSIGN(const LogHead head, parts.ledger.log_head(notice.population, notice.plan.ledger.records));
  COT_ASSIGN(const std::optional<SignedLogHead> log, sign_log(notice.population, head, parts.signer));
  return put_round_plan(parts.blobs, notice.assignment.plan, terms_in(notice.plan), log);
}

}  // namespace

RoundScheduler::RoundScheduler(RoundSchedulerSettings settings, RoundSchedulerParts parts)
    : settings_(std::move(settings)), parts_(parts) {}

RoundScheduler::~RoundScheduler() { stop(); }

// ---- Life

Status RoundScheduler::start(RoundBoard& board) {
  board_ = &board;
  COT_ASSIGN(const std::vector<JobRecord> jobs, parts_.jobs.list_jobs());
  COT_TRY(remove_orphan_partials(jobs, parts_.rounds, parts_.accepts, parts_.partials, settings_.orphan_age_min));
  os::crash_point(os::CrashPoint::start_orphans_removed);
  pool_.start(settings_.pool_threads);
  store_.start();
  core_.start([this] { on_deadline(); }, [this] { return next_deadline(); });
  for (const JobRecord& job : jobs) {
    if (job.state != JobState::running && job.state != JobState::paused) continue;
    std::visit([&](const HorizontalSettings&) { job_created(job.id); }, job.spec.kind);  // rounds lead this kind alone
  }
  core_.post([this] { clean_up_partials(); });
  return {};
}

void RoundScheduler::when_settled(std::function<void()> done) {
  core_.post([this, done = std::move(done)]() mutable {
    on_settled_.push_back(std::move(done));
    consider_settled();
  });
}

void RoundScheduler::consider_settled() {
  if (on_settled_.empty()) return;
  for (const auto& [job, machine] : machines_) {
    if (machine.is_loading()) return;
    if (machine.round() && served_.is_waiting(machine.round()->key)) return;
  }
  for (const auto& done : std::exchange(on_settled_, {})) done();
}

void RoundScheduler::answer_all_held() {
  core_.post([this] {
    draining_ = true;
    std::vector<RoundKey> keys;
    for (const auto& [key, attempt] : attempts_) keys.push_back(key);
    for (const RoundKey& key : keys) step_attempt(key, StopHolding{});
  });
}

void RoundScheduler::stop() {
  pool_.stop();
  store_.stop();
  core_.stop();
}

void RoundScheduler::job_created(const JobId& job) {
  core_.post([this, job] { add_machine(job); });
}

void RoundScheduler::job_state_changed(const JobId& job, JobState state) {
  core_.post([this, job, state] {
    step_round(job, JobStateChanged{state});
    refresh_status();
  });
}

void RoundScheduler::add_machine(const JobId& job) {
  const auto [machine, added] = machines_.try_emplace(job, job);
  if (added) run(job, machine->second.start());
}

// ---- Stepping

std::optional<Instant> RoundScheduler::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](std::optional<Instant> at) {
    if (at) next = next ? std::min(*next, *at) : *at;
  };
  consider(served_.next_deadline());
  if (!rounds_.empty()) consider(look_at_clock_);
  for (const auto& [job, machine] : machines_) consider(machine.next_deadline());
  for (const auto& [key, attempt] : attempts_) consider(attempt.machine.next_deadline());
  return next;
}

void RoundScheduler::on_deadline() {
  std::vector<JobId> jobs;
  for (const auto& [job, machine] : machines_) jobs.push_back(job);
  for (const JobId& job : jobs) step_round(job, TimePassed{});
  std::vector<RoundKey> keys;
  for (const auto& [key, attempt] : attempts_) keys.push_back(key);
  for (const RoundKey& key : keys) step_attempt(key, AttemptTime{});
  step_served(ServingTime{});
  look_at_clock();
}

void RoundScheduler::step_round(const JobId& job, const RoundEvent& event) {
  const auto machine = machines_.find(job);
  if (machine == machines_.end()) return;
  run(job, machine->second.step(event, os::monotonic_now()));
  // The effects may have stepped this machine, or ended it, again.
  const auto after = machines_.find(job);
  if (after != machines_.end() && after->second.ended()) machines_.erase(after);
  refresh_status();
}

void RoundScheduler::run(const JobId& job, RoundEffects effects) {
  for (RoundEffect& effect : effects) {
    if (auto* asked = std::get_if<AskRound>(&effect)) ask(job, asked->serial, asked->request);
    else if (auto* published = std::get_if<PublishRound>(&effect)) publish(*published);
    else step_served(std::get<WithdrawRound>(effect));
  }
}

void RoundScheduler::publish(const PublishRound& published) {
  const RoundNotice& notice = published.notice;
  // Before anything else is done for the state: what is over within a millisecond is told, too.
  if (notice.state == RoundState::frozen)
    parts_.events.add(notice.job, event::RoundFrozen{{notice.key, notice.number}});
  if (notice.state == RoundState::finalizing)
    parts_.events.add(notice.job, event::RoundFinalizing{{notice.key, notice.number}});
  if (notice.state == RoundState::frozen) step_attempt(notice.key, AttemptFrozen{});
  rounds_.try_emplace(notice.key, LiveRound{.notice = notice, .opened = os::monotonic_now()});
  step_served(published);
}

// What the job's machine would hear at the next change, now: out of this call, which it made.
void RoundScheduler::tell_pool(const JobId& job, const Population& population) {
  core_.post([this, job, waiting = waiting_[population], nodes = nodes_] {
    step_round(job, PoolChanged{waiting, nodes});
  });
}

// ---- From nodes

void RoundScheduler::pool_changed(const Population& population, uint64_t waiting) {
  core_.post([this, population, waiting] {
    waiting_[population] = waiting;
    std::vector<JobId> jobs;
    for (const auto& [key, round] : rounds_) {
      if (round.notice.population == population) jobs.push_back(round.notice.job);
    }
    for (const JobId& job : jobs) step_round(job, PoolChanged{waiting, nodes_});
    refresh_status();
  });
}

void RoundScheduler::nodes_changed(uint32_t nodes) {
  core_.post([this, nodes] {
    nodes_ = nodes;
    parts_.events.add(event::NodesChanged{nodes});
    for (const auto& [key, round] : rounds_) tell_pool(round.notice.job, round.notice.population);
    refresh_status();
  });
}

void RoundScheduler::tickets_issued(const RoundKey& key, uint32_t total) {
  core_.post([this, key, total] {
    const auto round = rounds_.find(key);
    if (round == rounds_.end()) return;
    round->second.issued = total;
    step_round(JobId(round->second.notice.job), TicketsIssued{key, total});
  });
}

void RoundScheduler::updates_accepted(const RoundKey& key, uint64_t total) {
  core_.post([this, key, total] {
    const auto round = rounds_.find(key);
    if (round == rounds_.end()) return;
    const RoundNotice& notice = round->second.notice;
    parts_.events.add(notice.job, event::UpdatesAccepted{{key, notice.number}, total});
    step_round(JobId(notice.job), UpdatesAccepted{key, total});  // a copy: the step may end the round
  });
}

void RoundScheduler::update_accepted(const RoundKey& key, const DeviceId& device) {
  core_.post([this, key, device] { step_attempt(key, MaskedInputAccepted{device}); });
}

void RoundScheduler::look_at_accepted(const RoundKey& key) {
  core_.post([this, key] {
    const auto attempt = attempts_.find(key);
    if (attempt == attempts_.end() || !attempt->second.machine.is_aggregating()) return;
    store_.post([this, key] {
      Result<std::vector<DeviceId>> accepted = parts_.accepts.list_accepted(key);
      if (!accepted) return;  // looked at again
      core_.post([this, key, accepted = std::move(*accepted)] {
        for (const DeviceId& device : accepted) step_attempt(key, MaskedInputAccepted{device});
      });
    });
  });
}

// ---- Publishing

void RoundScheduler::step_served(const ServingEvent& event) {
  struct Visitor {
    RoundScheduler& self;
    void operator()(const ChooseNow& e) { self.tell_pool(e.job, e.population); }
    void operator()(const AskBeforeServing& e) { self.ask_before_serving(e); }
    void operator()(const ServePublished& e) { self.serve(e); }
    void operator()(const StopServing& e) { self.withdraw(e.key); }
  };
  for (const ServingEffect& effect : served_.step(event, os::monotonic_now())) std::visit(Visitor{*this}, effect);
}

void RoundScheduler::ask_before_serving(const AskBeforeServing& asked) {
  store_.post([this, asked] {
    Result<ReadyRound> found = ready(asked.notice);
    core_.post([this, asked = RoundReadied{asked.serial, asked.notice.key, std::move(found)}] { step_served(asked); });
  });
}

// On the store's thread. The plan is the attempt's own, where it has one.
Result<ReadyRound> RoundScheduler::ready(const RoundNotice& notice) const {
  COT_ASSIGN(const uint64_t accepted, parts_.accepts.count_accepted(notice.key));
  const Assignment& assignment = notice.assignment;
  const bool is_the_jobs = content_digest(encode(notice.plan)) == assignment.plan;
  if (is_the_jobs) return ReadyRound{accepted > 0, assignment.plan, assignment.plan_bytes};
  const Result<RoundPlan> plan = make_plan(parts_, notice);
  if (!plan) {
    log(LogLevel::warning, "plan_not_made", {{"job", notice.job.value()}, {"reason", plan.error().message()}});
    return plan.error();
  }
  return ReadyRound{accepted > 0, plan->digest, plan->bytes};
}

void RoundScheduler::serve(const ServePublished& served) {
  RoundNotice& notice = rounds_.at(served.round.notice.key).notice;
  notice = served.round.notice;
  const AttemptRules& rules = served.round.rules;
  if (!sign(notice, rules.deadline)) return;
  rounds_.at(notice.key).deadline = rules.deadline;
  if (notice.state == RoundState::collecting) {
    const event::RoundName name{notice.key, notice.number};
    if (served.begins) parts_.events.add(notice.job, event::RoundCollecting{name});
    else parts_.events.add(notice.job, event::RoundExtended{name});
    begin_cohorts(notice, rules, served.has_accepted);
  }
  os::crash_point(os::CrashPoint::round_before_served);
  board_->serve(notice);
  consider_settled();
}

bool RoundScheduler::sign(RoundNotice& notice, Instant deadline) const {
  const Now now = os::now();
  const Millis left = std::max(Millis(0), deadline - now.instant);
  notice.assignment.not_after = now.wall + left + settings_.ticket_leeway;
  const Status is_signed = sign_manifest(notice.assignment, parts_.signer);
  if (!is_signed) log(LogLevel::error, "assignment_not_signed", {{"reason", is_signed.error().message()}});
  return is_signed.has_value();
}

// Assignments end by the wall clock. When that is set, those of rounds under way are signed anew: devices would give
// up what they have just been given, or work for a round that is long over.
void RoundScheduler::look_at_clock() {
  const Now now = os::now();
  if (now.instant < look_at_clock_) return;
  look_at_clock_ = now.instant + kClockLookEvery;
  const Millis step = clock_.look(now);
  if (step == Millis(0)) return;
  log(LogLevel::warning, "clock_was_set", {{"forward_ms", step.count()}});
  for (auto& [key, round] : rounds_) {
    if (round.deadline && sign(round.notice, *round.deadline)) board_->serve(round.notice);
  }
}

void RoundScheduler::withdraw(const RoundKey& key) {
  const LiveRound& round = must_find(rounds_, key, "a round that is served no more was published");
  board_->withdraw(key);
  parts_.metrics.round_ended(round.notice.state == RoundState::finalizing ? RoundState::done : RoundState::failed,
                             seconds_since(round.opened));
  rounds_.erase(key);
  end_cohorts(key);
}

// ---- What round machines ask

// Runs `work` (returning a Result) on the store's thread and steps the job's machine with it as an Answer.
template <typename Answer, typename Work>
void RoundScheduler::ask_store(const JobId& job, uint64_t serial, Work work) {
  store_.post([this, job, serial, work = std::move(work)] {
    auto result = work();
    if (!result && result.error().code() != ErrorCode::conflict) {
      log(LogLevel::warning, "store_failed", {{"job", job.value()}, {"reason", result.error().message()}});
    }
    core_.post([this, job, serial, result = std::move(result)] { step_round(job, Answer{serial, result}); });
  });
}

void RoundScheduler::ask(const JobId& job, uint64_t serial, const RoundRequest& request) {
  struct Visitor {
    RoundScheduler& self;
    const JobId& job;
    uint64_t serial;
    RoundSchedulerParts& stores;

    void operator()(const LoadProgress&) {
      self.ask_store<ProgressLoaded>(job, serial, [&s = stores.rounds, job = job] { return s.load_progress(job); });
    }
    void operator()(const OpenRound& open) {
      self.ask_store<RoundOpened>(job, serial, [&c = self, &s = stores.rounds, job = job, open] {
        Result<RoundRecord> opened = s.open_round(job, open, os::wall_now());
        if (opened) c.tell_opened(job, *opened);
        return opened;
      });
    }
    void operator()(const CountAccepted& count) {
      self.ask_store<AcceptedCounted>(job, serial,
                                      [&s = stores.accepts, count] { return s.count_accepted(count.key); });
    }
    void operator()(const MoveRound& move) {
      if (move.to == RoundState::failed) {
        self.parts_.events.add(job, event::RoundFailed{{move.key, self.number_of_round(job)}, move.reason});
      }
      self.ask_store<RoundMoved>(job, serial,
                                 [&s = stores.rounds, move] { return s.move_round(move, os::wall_now()); });
    }
    void operator()(const FinalizeRound& finalize) {
      const PrivacySettings& privacy = finalize.job.spec.horizontal().privacy;
      if (privacy.level != SecurityLevel::none) return self.finalize_cohorts(job, serial, finalize);
      self.finalize(job, serial, finalize, {});
    }
    void operator()(const CommitRound& commit) {
      self.ask_store<RoundCommitted>(job, serial, [&c = self, &s = stores.rounds, job = job, commit] {
        Result<JobProgress> progress = s.commit_round(job, commit, os::wall_now());
        if (progress) c.after_commit(commit, *progress);
        return progress;
      });
    }
    void operator()(const FailJob& fail) {
      self.parts_.events.add(job, event::JobFailed{fail.reason});
      self.ask_store<JobFailed>(job, serial, [&s = stores.jobs, job = job, fail] {
        const Result<JobRecord> done = s.set_job_state(job, JobState::failed, fail.reason);
        return done ? Status() : Status(done.error());
      });
    }
  };
  std::visit(Visitor{*this, job, serial, parts_}, request);
}

// On the pool. The masks of `sum`, if there are any, are opened first.
void RoundScheduler::finalize(const JobId& job, uint64_t serial, const FinalizeRound& finalize,
                              const std::optional<OpenSum>& sum) {
  pool_.post([this, job, serial, finalize, sum] {
    const Instant begin = os::monotonic_now();
    os::crash_point(os::CrashPoint::finalize_begun);
    const auto run = [&]() -> Result<FinalizedRound> {
      if (!sum) return parts_.finalizer.finalize(finalize.job, finalize.round, finalize.base, os::wall_now());
      COT_ASSIGN(const SumMasks masks, open_masks(sum->cohorts->sessions(), sum->parameters, pool_));
      parts_.metrics.masks_opened(seconds_since(begin));
      os::crash_point(os::CrashPoint::finalize_masks_opened);
      return parts_.finalizer.finalize(finalize.job, finalize.round, finalize.base, os::wall_now(), &masks);
    };
    Result<FinalizedRound> round = run();
    if (round) parts_.metrics.round_finalized(seconds_since(begin));
    else {
      const event::RoundName name{finalize.round.key, finalize.round.number};
      parts_.events.add(job, event::FinalizeFailed{name, round.error().message()});
    }
    core_.post([this, job, serial, key = finalize.round.key, is_masked = sum.has_value(), round = std::move(round)] {
      if (is_masked && !round) return step_attempt(key, SumNotFinalized{serial, round.error()});
      step_round(job, RoundFinalized{serial, round});
    });
  });
}

// On the store's thread, before anybody acts on the commit.
void RoundScheduler::after_commit(const CommitRound& request, const JobProgress& progress) {
  os::crash_point(os::CrashPoint::round_committed);
  const ModelRecord& model = request.round.model;
  parts_.events.add(progress.job.id, event::RoundDone{.round = {request.round.key, request.number},
                                                      .updates = request.round.totals.updates,
                                                      .version = model.version,
                                                      .evaluation_loss = model.evaluation_loss,
                                                      .evaluation_accuracy = model.evaluation_accuracy,
                                                      .evaluation_mae = model.evaluation_mae,
                                                      .evaluation_r2 = model.evaluation_r2});
  if (request.completes_job) parts_.events.add(progress.job.id, event::JobCompleted{request.number});
  if (request.opens_next && progress.latest) tell_opened(progress.job.id, *progress.latest);
  core_.post([this] { clean_up_partials(); });
}

// An attempt that was opened before, by this process or another, and has gone on since is no news.
void RoundScheduler::tell_opened(const JobId& job, const RoundRecord& round) {
  if (round.state == RoundState::selecting) parts_.events.add(job, event::RoundOpened{{round.key, round.number}});
}

// 0: the job's machine has none.
uint64_t RoundScheduler::number_of_round(const JobId& job) const {
  const auto machine = machines_.find(job);
  return machine != machines_.end() && machine->second.round() ? machine->second.round()->number : 0;
}

void RoundScheduler::clean_up_partials() {
  store_.post([this] {
    const Result<std::vector<PartialRecord>> finished = parts_.accepts.list_finished_partials(kCleanUpBatch);
    if (!finished) return;
    std::vector<std::string> ids;
    for (const PartialRecord& partial : *finished) {
      if (parts_.partials.remove(partial.blob)) ids.push_back(partial.id);
    }
    if (ids.empty()) return;
    os::crash_point(os::CrashPoint::partials_removed);
    if (const Status forgotten = parts_.accepts.forget_partials(ids); !forgotten) {
      log(LogLevel::warning, "partials_not_forgotten", {{"reason", forgotten.error().message()}});
    }
  });
}

// ---- Status

void RoundScheduler::refresh_status() {
  consider_settled();
  SchedulerStatus status;
  for (const auto& [job, machine] : machines_) {
    SchedulerStatus::Job entry{.job = job, .round = machine.round(), .accepted = machine.accepted(), .selected = 0};
    if (entry.round) {
      if (const auto live = rounds_.find(entry.round->key); live != rounds_.end()) entry.selected = live->second.issued;
    }
    status.jobs.push_back(std::move(entry));
  }
  status.waiting = waiting_;
  status.nodes = nodes_;
  {
    const std::lock_guard lock(status_mutex_);
    status_ = std::move(status);
  }
  parts_.events.changed();
}

SchedulerStatus RoundScheduler::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

std::optional<JobNow> RoundScheduler::now_of(const JobId& job, const Population& population) const {
  const std::lock_guard lock(status_mutex_);
  const auto entry = std::ranges::find(status_.jobs, job, &SchedulerStatus::Job::job);
  if (entry == status_.jobs.end()) return std::nullopt;
  const auto waiting = status_.waiting.find(population);
  return JobNow{.round = entry->round,
                .accepted = entry->accepted,
                .selected = entry->selected,
                .waiting = waiting == status_.waiting.end() ? 0 : waiting->second};
}

}  // namespace coterie
