#include "fl_server/events/event.h"

namespace coterie::event {

std::string_view kind(const What& what) {
  struct Namer {
    std::string_view operator()(const JobCreated&) const { return "job_created"; }
    std::string_view operator()(const JobStateChanged&) const { return "job_state_changed"; }
    std::string_view operator()(const JobCompleted&) const { return "job_completed"; }
    std::string_view operator()(const JobFailed&) const { return "job_failed"; }
    std::string_view operator()(const ModelReleased&) const { return "model_released"; }
    std::string_view operator()(const CanaryChanged&) const { return "canary_changed"; }
    std::string_view operator()(const VerticalJobChanged&) const { return "vertical_job_changed"; }
    std::string_view operator()(const RoundOpened&) const { return "round_opened"; }
    std::string_view operator()(const RoundCollecting&) const { return "round_collecting"; }
    std::string_view operator()(const RoundExtended&) const { return "round_extended"; }
    std::string_view operator()(const UpdatesAccepted&) const { return "updates_accepted"; }
    std::string_view operator()(const RoundFrozen&) const { return "round_frozen"; }
    std::string_view operator()(const RoundFinalizing&) const { return "round_finalizing"; }
    std::string_view operator()(const FinalizeFailed&) const { return "finalize_failed"; }
    std::string_view operator()(const RoundFailed&) const { return "round_failed"; }
    std::string_view operator()(const RoundDone&) const { return "round_done"; }
    std::string_view operator()(const ServerLeads&) const { return "server_leads"; }
    std::string_view operator()(const NodesChanged&) const { return "nodes_changed"; }
  };
  return std::visit(Namer{}, what);
}

std::string_view text(const What& what) {
  return std::visit(
      [](const auto& of) -> std::string_view {
        if constexpr (requires { of.reason; }) return of.reason;
        else if constexpr (requires { of.name; }) return of.name;
        else return {};
      },
      what);
}

}  // namespace coterie::event
