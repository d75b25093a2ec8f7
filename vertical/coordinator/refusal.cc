#include "vertical/coordinator/refusal.h"

#include <algorithm>
#include <string>

namespace coterie::vertical {
namespace {

constexpr RefusalTraits kRefusals[] = {
    {Refusal::malformed_request, ErrorCode::malformed, "malformed_request", "the request does not decode"},
    {Refusal::unknown_job, ErrorCode::not_found, "unknown_job", "nobody submitted this job here"},
    {Refusal::manifest_invalid, ErrorCode::invalid_argument, "manifest_invalid",
     "the manifest is wrong, or does not name its parties"},
    {Refusal::not_a_party, ErrorCode::permission_denied, "not_a_party",
     "the job's manifest names no party of this certificate"},
    {Refusal::both_parties, ErrorCode::permission_denied, "both_parties",
     "this certificate has the names of both parties"},
    {Refusal::manifest_differs, ErrorCode::refused, "manifest_differs",
     "the job was submitted with another manifest; compare the two files"},
    {Refusal::key_unsupported, ErrorCode::invalid_argument, "key_unsupported",
     "approvals are signed with keys of P-256 or Ed25519 alone"},
    {Refusal::signature_invalid, ErrorCode::unauthenticated, "signature_invalid",
     "the approval is not signed by the key of this certificate"},
    {Refusal::not_approved, ErrorCode::conflict, "not_approved", "not every party has approved the manifest yet"},
    {Refusal::already_joined, ErrorCode::conflict, "already_joined", "this party has come already"},
    {Refusal::not_running, ErrorCode::conflict, "not_running", "there is no run to report on"},
    {Refusal::job_over, ErrorCode::conflict, "job_over", "the job is over: it is done, failed or cancelled"},
    {Refusal::peer_absent, ErrorCode::timed_out, "peer_absent", "the other party did not come in time"},
    {Refusal::spoke_early, ErrorCode::malformed, "spoke_early", "bytes came before the other party did"},
    {Refusal::jobs_full, ErrorCode::overloaded, "jobs_full", "the coordinator has as many open jobs as it takes"},
    {Refusal::party_jobs_full, ErrorCode::overloaded, "party_jobs_full",
     "this party has submitted as many open jobs as it may"},
    {Refusal::waiting_full, ErrorCode::overloaded, "waiting_full", "as many parties wait as the coordinator lets"},
    {Refusal::pairs_full, ErrorCode::overloaded, "pairs_full", "as many jobs run as the coordinator lets"},
    {Refusal::deal_differs, ErrorCode::refused, "deal_differs",
     "the parties ask for random numbers of different shapes"},
    {Refusal::not_an_operator, ErrorCode::permission_denied, "not_an_operator",
     "the coordinator's operators have no name of this certificate"},
};

}  // namespace

std::span<const RefusalTraits> all_refusals() { return kRefusals; }

std::string_view refusal_name(Refusal refusal) { return kRefusals[static_cast<size_t>(refusal) - 1].name; }

Error refusal_error(Refusal refusal) {
  const RefusalTraits& row = kRefusals[static_cast<size_t>(refusal) - 1];
  return Error(row.code, "the coordinator refuses: " + std::string(row.title), row.name);
}

std::optional<Refusal> refusal_of(uint8_t number) {
  if (number == 0 || number > std::size(kRefusals)) return std::nullopt;
  return static_cast<Refusal>(number);
}

}  // namespace coterie::vertical
