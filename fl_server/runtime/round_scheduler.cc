#include "fl_server/runtime/round_scheduler.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/finalize/orphan_partials.h"
#include "fl_server/runtime/cohort_keeper.h"
#include "fl_server/runtime/round_publisher.h"
#include "fl_server/runtime/round_requests.h"
#include "fl_server/store/job_store.h"

namespace coterie {

RoundScheduler::RoundScheduler(RoundSchedulerSettings settings, RoundSchedulerParts parts)
    : settings_(std::move(settings)), parts_(parts) {
  const auto tell_job = [this](const TellJob& told) { tell(told); };
  cohorts_ = std::make_unique<CohortKeeper>(
      settings_, parts_, loops_, CohortKeeper::Calls{.tell = tell_job, .tell_nodes = [this](const TellNodesDue& told) {
                                                       board_->updates_due(told.key, told.total);
                                                     }});
  publisher_ = std::make_unique<RoundPublisher>(
      settings_.ticket_leeway, parts_, loops_,
      RoundPublisher::Calls{.tell = tell_job,
                            .serves = [this](const ServePublished& served) { cohorts_->serve(served); },
                            .served = [this] { consider_settled(); },
                            .stopped = [this](const StopServing& stopped) { cohorts_->step(stopped); }});
  requests_ = std::make_unique<RoundRequests>(
      parts_, loops_,
      RoundRequests::Calls{.answer = [this](const JobId& job, const RoundEvent& event) { step(job, event); },
                           .finalize = [this](const FinalizeWanted& wanted) { cohorts_->step(wanted); }});
}

RoundScheduler::~RoundScheduler() { stop(); }

// ---- Life

Status RoundScheduler::start(RoundBoard& board) {
  board_ = &board;
  publisher_->start(board);
  COT_ASSIGN(const std::vector<JobRecord> jobs, parts_.jobs.list_jobs());
  COT_TRY(remove_orphan_partials(jobs, parts_.rounds, parts_.accepts, parts_.partials, settings_.orphan_age_min));
  os::crash_point(os::CrashPoint::start_orphans_removed);
  loops_.start(
      settings_.pool_threads, [this] { on_deadline(); }, [this] { return next_deadline(); });
  for (const JobRecord& job : jobs) {
    if (job.state != JobState::running && job.state != JobState::paused) continue;
    std::visit([&](const HorizontalSettings&) { job_created(job.id); }, job.spec.kind);  // rounds lead this kind alone
  }
  loops_.core.post([this] {
    requests_->clean_up_partials();
    requests_->feed_canaries();
  });
  return {};
}

void RoundScheduler::when_settled(std::function<void()> done) {
  loops_.core.post([this, done = std::move(done)]() mutable {
    on_settled_.push_back(std::move(done));
    consider_settled();
  });
}

void RoundScheduler::consider_settled() {
  if (on_settled_.empty()) return;
  for (const auto& [job, machine] : machines_) {
    if (machine.is_loading()) return;
    if (machine.round() && publisher_->rounds().is_waiting(machine.round()->key)) return;
  }
  for (const auto& done : std::exchange(on_settled_, {})) done();
}

void RoundScheduler::answer_all_held() {
  loops_.core.post([this] { cohorts_->step(StopHolding{}); });
}

void RoundScheduler::stop() { loops_.stop(); }

CohortOwner& RoundScheduler::cohorts() { return *cohorts_; }

// ---- From operators

void RoundScheduler::job_created(const JobId& job) {
  loops_.core.post([this, job] {
    const auto [machine, added] = machines_.try_emplace(job, job);
    if (added) run(job, machine->second.start());
  });
}

void RoundScheduler::job_state_changed(const JobId& job, JobState state) {
  loops_.core.post([this, job, state] {
    step(job, JobStateChanged{state});
    refresh_status();
  });
}

void RoundScheduler::canary_opened() {
  loops_.core.post([this] { requests_->feed_canaries(); });
}

// ---- From nodes

// ServedRounds knows whose affair it is.
template <typename Event>
void RoundScheduler::hear(Event event) {
  loops_.core.post([this, event = std::move(event)] { publisher_->step(event); });
}

void RoundScheduler::pool_changed(const Population& population, uint64_t waiting) {
  hear(PoolHeard{population, waiting});
  loops_.core.post([this] { refresh_status(); });
}

void RoundScheduler::nodes_changed(uint32_t nodes) {
  loops_.core.post([this, nodes] { parts_.events.add(event::NodesChanged{nodes}); });
  hear(NodesCounted{nodes});
  loops_.core.post([this] { refresh_status(); });
}

void RoundScheduler::tickets_issued(const RoundKey& key, uint32_t total) { hear(TicketsHeard{key, total}); }

void RoundScheduler::updates_accepted(const RoundKey& key, uint64_t total) { hear(AcceptedHeard{key, total}); }

void RoundScheduler::update_accepted(const RoundKey& key, const DeviceId& device) {
  loops_.core.post([this, key, device] { cohorts_->step(InputAccepted{key, device}); });
}

void RoundScheduler::look_at_accepted(const RoundKey& key) {
  loops_.core.post([this, key] { cohorts_->step(RowsMayBeThere{key}); });
}

// ---- Stepping

std::optional<Instant> RoundScheduler::next_deadline() const {
  std::optional<Instant> next = publisher_->next_deadline();
  const auto consider = [&](std::optional<Instant> at) {
    if (at) next = std::min(*at, next.value_or(*at));
  };
  consider(cohorts_->next_deadline());
  for (const auto& [job, machine] : machines_) consider(machine.next_deadline());
  return next;
}

void RoundScheduler::on_deadline() {
  std::vector<JobId> jobs;  // a step may end a machine
  for (const auto& [job, machine] : machines_) jobs.push_back(job);
  for (const JobId& job : jobs) step(job, TimePassed{});
  cohorts_->step(AttemptTime{});
  publisher_->time_passed();
}

void RoundScheduler::step(const JobId& job, const RoundEvent& event) {
  const auto machine = machines_.find(job);
  if (machine == machines_.end()) return;
  run(job, machine->second.step(event, os::monotonic_now()));
  if (machine->second.ended()) machines_.erase(machine);
  refresh_status();
}

// Nothing here steps a round's machine in this call: what other machines tell it comes in a later turn (tell).
void RoundScheduler::run(const JobId& job, const RoundEffects& effects) {
  struct Visitor {
    RoundScheduler& self;
    const JobId& job;
    void operator()(const AskRound& e) {
      const std::optional<RoundRecord>& round = must_find(self.machines_, job, "a machine that asks is there").round();
      self.requests_->ask(job, round ? round->number : 0, e);
    }
    void operator()(const PublishRound& e) {
      self.publisher_->tell_moved(e.notice);
      self.cohorts_->step(e);
      self.publisher_->step(e);
    }
    void operator()(const WithdrawRound& e) { self.publisher_->step(e); }
  };
  for (const RoundEffect& effect : effects) std::visit(Visitor{*this, job}, effect);
}

void RoundScheduler::tell(const TellJob& told) {
  loops_.core.post([this, told] { step(told.job, told.event); });
}

// ---- Status

void RoundScheduler::refresh_status() {
  consider_settled();
  const ServedRounds& served = publisher_->rounds();
  SchedulerStatus status{.jobs = {}, .waiting = served.waiting(), .nodes = served.nodes()};
  for (const auto& [job, machine] : machines_) {
    const uint32_t selected = machine.round() ? served.issued(machine.round()->key) : 0;
    status.jobs.push_back({.job = job, .round = machine.round(), .accepted = machine.accepted(), .selected = selected});
  }
  status_.put(std::move(status));
  parts_.events.changed();
}

}  // namespace coterie
