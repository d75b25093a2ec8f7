#include "fl_server/fleet/fleet_lead.h"

#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/fleet/fleet_text.h"
#include "fl_server/runtime/round_scheduler.h"

namespace coterie {

FleetLead::FleetLead(FleetSettings settings, FleetStore& store, std::string owner_url)
    : settings_(settings), store_(store), owner_url_(std::move(owner_url)) {}

void FleetLead::start(std::string lease, LeaseEpoch epoch, RoundScheduler& scheduler) {
  lease_ = std::move(lease);
  epoch_ = epoch;
  scheduler_ = &scheduler;
  machine_.emplace(LeadSettings{.poll_every = settings_.poll_every, .silence_max = settings_.silence_max}, owner_url_,
                   os::monotonic_now());
  loop_.start([this] { step(LeadTime{}); }, [this]() -> std::optional<Instant> { return machine_->next_deadline(); });
}

// ---- From the scheduler

void FleetLead::serve(const RoundNotice& round) {
  loop_.post([this, round] { step(PostRound{round}); });
}

void FleetLead::withdraw(const RoundKey& key) {
  loop_.post([this, key] { step(UnpostRound{key}); });
}

void FleetLead::updates_due(const RoundKey& key, uint64_t total) {
  loop_.post([this, key, total] { step(PostDue{key, total}); });
}

// ---- What the machine asks

void FleetLead::step(const LeadEvent& event) {
  for (const LeadEffect& effect : machine_->step(event, os::monotonic_now())) perform(effect);
}

void FleetLead::perform(const LeadEffect& effect) {
  struct Visitor {
    FleetLead& self;
    void operator()(const HearNodes&) { self.step(NodesHeard{self.hear()}); }
    void operator()(const ForgetNodes& e) {
      if (const Status forgotten = self.store_.forget_nodes(e.silent_for); !forgotten) {
        log(LogLevel::warning, "fleet_nodes_not_forgotten", {{"reason", forgotten.error().message()}});
      }
    }
    void operator()(const TellNodes& e) { self.scheduler_->nodes_changed(e.nodes); }
    void operator()(const TellPool& e) { self.scheduler_->pool_changed(e.population, e.waiting); }
    void operator()(const TellIssued& e) { self.scheduler_->tickets_issued(e.key, e.total); }
    void operator()(const TellAccepted& e) { self.scheduler_->updates_accepted(e.key, e.total); }
    void operator()(const LookAtAccepted& e) { self.scheduler_->look_at_accepted(e.key); }
    void operator()(const WriteBoard& e) { self.step(BoardWritten{self.write(e.board)}); }
  };
  std::visit(Visitor{*this}, effect);
}

Result<std::vector<NodeRow>> FleetLead::hear() {
  const Result<std::vector<FleetNodeRow>> rows = store_.nodes();
  if (!rows && !is_deaf_) log(LogLevel::warning, "fleet_not_heard", {{"reason", rows.error().message()}});
  is_deaf_ = !rows;
  if (!rows) return rows.error();
  std::vector<NodeRow> nodes;
  for (const FleetNodeRow& row : *rows) {
    Result<NodeReport> report = node_report_from_text(row.report);
    if (!report) {  // one node that is not understood does not make the others unheard
      log(LogLevel::warning, "fleet_node_not_understood", {{"node", row.node}, {"reason", report.error().message()}});
      continue;
    }
    report->node = row.node;
    report->incarnation = row.incarnation;
    nodes.push_back({std::move(*report), row.started, row.age});
  }
  return nodes;
}

Status FleetLead::write(const PostedBoard& board) {
  // The store compares the epoch of the lease: the board of a leader that was replaced without knowing it is not
  // written.
  const Result<uint64_t> revision = store_.write_board(lease_, epoch_, to_text(board));
  if (revision) return {};
  log(LogLevel::warning, "fleet_board_not_written", {{"reason", revision.error().message()}});
  return revision.error();
}

}  // namespace coterie
