#include "fl_server/events/log_subscriber.h"

#include "base/log.h"
#include "scheduler/rollout/canary_state.h"

namespace coterie {
namespace {

// The fields of each line are part of what operators' programs read.
struct LineWriter {
  std::string_view kind;
  LogField job;

  void operator()(const event::JobCreated& of) const { log(LogLevel::info, kind, {job, {"name", of.name}}); }
  void operator()(const event::JobStateChanged& of) const {
    log(LogLevel::info, kind, {job, {"state", to_string(of.state)}});
  }
  void operator()(const event::JobFailed& of) const { log(LogLevel::error, kind, {job, {"reason", of.reason}}); }
  void operator()(const event::ModelReleased& of) const {
    log(LogLevel::info, kind, {job, {"model_version", of.version.value()}, {"rolled_back", of.rolled_back}});
  }
  void operator()(const event::CanaryChanged& of) const {
    log(of.state == CanaryState::rolled_back ? LogLevel::warning : LogLevel::info, kind,
        {job,
         {"canary", of.id},
         {"model_version", of.version.value()},
         {"state", to_string(of.state)},
         {"heard", of.heard}});
  }
  void operator()(const event::VerticalJobChanged& of) const {
    log(LogLevel::info, kind, {job, {"state", of.state}, {"reason", of.reason}, {"stage", of.stage}});
  }
  void operator()(const event::RoundCollecting& of) const { begins(of.round); }
  void operator()(const event::RoundExtended& of) const { begins(of.round); }
  void operator()(const event::FinalizeFailed& of) const { log(LogLevel::error, kind, {job, {"reason", of.reason}}); }
  void operator()(const event::RoundFailed& of) const {
    // The store's number of the round, not the job's: programs that read the line have always found that one.
    log(LogLevel::warning, kind,
        {job, {"round", of.round.key.round.value()}, {"attempt", of.round.key.attempt.value()}, {"reason", of.reason}});
  }
  void operator()(const event::RoundDone& of) const {
    log(LogLevel::info, kind,
        {job, {"round", of.round.number}, {"updates", of.updates}, {"model_version", of.version.value()}});
  }
  void operator()(const event::ServerLeads& of) const { log(LogLevel::info, kind, {{"epoch", of.epoch}}); }

  // No line: the next line of the round or its job says as much, a metric does, or they come with every batch.
  void operator()(const event::JobCompleted&) const {}
  void operator()(const event::RoundOpened&) const {}
  void operator()(const event::UpdatesAccepted&) const {}
  void operator()(const event::RoundFrozen&) const {}
  void operator()(const event::RoundFinalizing&) const {}
  void operator()(const event::NodesChanged&) const {}

  void begins(const event::RoundName& round) const {
    log(LogLevel::info, kind, {job, {"round", round.number}, {"attempt", round.key.attempt.value()}});
  }
};

}  // namespace

void LogSubscriber::happened(const Event& event) {
  std::visit(LineWriter{.kind = event::kind(event.what), .job = {"job", event.job.value()}}, event.what);
}

}  // namespace coterie
