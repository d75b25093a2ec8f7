#include "fl_server/events/event_json.h"

#include <nlohmann/json.hpp>

#include "fl_server/json/evaluated_heads_json.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/json/watch_json.h"
#include "scheduler/rollout/canary_state.h"

namespace coterie {
namespace {

using nlohmann::json;

// Each adds what its event says, under the names that jobs and rounds have elsewhere on the admin plane.
struct Writer {
  json& out;

  void operator()(const event::JobCreated& of) const { out["name"] = of.name; }
  void operator()(const event::JobStateChanged& of) const { out["state"] = to_string(of.state); }
  void operator()(const event::JobCompleted& of) const { out["rounds"] = of.rounds; }
  void operator()(const event::JobFailed& of) const { out["reason"] = of.reason; }
  void operator()(const event::ModelReleased& of) const {
    out["model_version"] = of.version.value();
    out["rolled_back"] = of.rolled_back;
  }
  void operator()(const event::CanaryChanged& of) const {
    out["canary"] = of.id;
    out["model_version"] = of.version.value();
    out["state"] = to_string(of.state);
    out["heard"] = of.heard;
  }
  void operator()(const event::VerticalJobChanged& of) const {
    out["state"] = of.state;
    out["approvals"] = of.approvals;
    if (!of.reason.empty()) out["reason"] = of.reason;
    if (!of.stage.empty()) out["stage"] = of.stage;
  }
  void operator()(const event::RoundOpened& of) const { round(of.round); }
  void operator()(const event::RoundCollecting& of) const { round(of.round); }
  void operator()(const event::RoundExtended& of) const { round(of.round); }
  void operator()(const event::UpdatesAccepted& of) const {
    round(of.round);
    out["accepted"] = of.total;
  }
  void operator()(const event::RoundFrozen& of) const { round(of.round); }
  void operator()(const event::RoundFinalizing& of) const { round(of.round); }
  void operator()(const event::FinalizeFailed& of) const { failed(of.round, of.reason); }
  void operator()(const event::RoundFailed& of) const { failed(of.round, of.reason); }
  void operator()(const event::RoundDone& of) const {
    round(of.round);
    out["updates"] = of.updates;
    out["model_version"] = of.version.value();
    if (of.evaluation_loss) out["evaluation_loss"] = *of.evaluation_loss;
    if (of.evaluation_accuracy) out["evaluation_accuracy"] = *of.evaluation_accuracy;
    if (of.evaluation_mae) out["evaluation_mae"] = *of.evaluation_mae;
    if (of.evaluation_r2) out["evaluation_r2"] = *of.evaluation_r2;
    if (!of.evaluation_heads.empty()) out["evaluation_heads"] = to_json(of.evaluation_heads);
    if (of.watch) out["watch"] = to_json(*of.watch);
  }
  void operator()(const event::ServerLeads& of) const { out["epoch"] = of.epoch; }
  void operator()(const event::NodesChanged& of) const { out["nodes"] = of.nodes; }

  void round(const event::RoundName& name) const {
    out["round"] = name.number;
    out["attempt"] = name.key.attempt.value();
  }
  void failed(const event::RoundName& name, const std::string& reason) const {
    round(name);
    out["reason"] = reason;
  }
};

}  // namespace

std::string event_json(const Event& event) {
  json out = {{"time", rfc3339(event.time)}};
  if (!event.job.value().empty()) out["job"] = event.job.value();
  std::visit(Writer{out}, event.what);
  // A reason may quote what a device sent: bytes that are no UTF-8 are replaced, not thrown over.
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace coterie
