#include "vertical/coordinator/job_record.h"

#include <algorithm>
#include <set>

#include "vertical/coordinator/leakage_row.h"

namespace coterie::vertical {
namespace {

constexpr std::array<std::string_view, 7> kStateNames = {"created", "approved",  "running", "done",
                                                         "failed",  "cancelled", "paused"};
// With its zero byte: no domain is the beginning of another.
constexpr std::string_view kApprovalDomain("coterie vertical approval 1\0", 28);

}  // namespace

std::string_view job_state_name(JobState state) { return kStateNames[static_cast<size_t>(state) - 1]; }

std::optional<JobState> job_state_from_name(std::string_view name) {
  const auto found = std::ranges::find(kStateNames, name);
  if (found == kStateNames.end()) return std::nullopt;
  return static_cast<JobState>(found - kStateNames.begin() + 1);
}

std::string party_role(PartyIndex party) {
  if (party == 0) return "label";
  return party == 1 ? "feature" : "feature_" + std::to_string(party);
}

bool JobRecord::is_approved() const {
  return std::ranges::all_of(parties, [](const PartyRecord& party) { return party.approval.has_value(); });
}

bool JobRecord::is_done_at_all() const { return std::ranges::all_of(parties, &PartyRecord::is_done); }

bool JobRecord::has_run() const {
  return std::ranges::any_of(parties, [](const PartyRecord& party) { return party.relayed_bytes > 0; });
}

bool JobRecord::is_held() const {
  return is_paused_by_operator || std::ranges::any_of(parties, &PartyRecord::is_paused);
}

bool is_party_name(std::string_view name) {
  return !name.empty() && name.size() <= kPartyNameBytesMax &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c < 127; });
}

std::string party_name_rule() {
  return "must have 1 to " + std::to_string(kPartyNameBytesMax) + " visible ASCII characters";
}

bool is_over(JobState state) {
  return state == JobState::done || state == JobState::failed || state == JobState::cancelled;
}

Status check_terms(const JobTerms& terms) {
  if (terms.parties.size() < kJobPartiesMin || terms.parties.size() > kJobPartiesMax) {
    return Error(ErrorCode::invalid_argument, "a job has " + std::to_string(kJobPartiesMin) + " to " +
                                                  std::to_string(kJobPartiesMax) + " parties, not " +
                                                  std::to_string(terms.parties.size()));
  }
  for (const std::string& name : terms.parties) {
    if (!is_party_name(name)) return Error(ErrorCode::invalid_argument, "a party's name " + party_name_rule());
  }
  if (std::set<std::string_view>(terms.parties.begin(), terms.parties.end()).size() != terms.parties.size()) {
    return Error(ErrorCode::invalid_argument, "the parties must have different names");
  }
  if (!terms.kind.empty() && !is_job_reason(terms.kind)) {
    return Error(ErrorCode::invalid_argument, "a job's kind must be a word of a-z and _");
  }
  const bool are_known = std::ranges::all_of(terms.leakage, [](const std::string& id) { return leakage_row(id); });
  if (!are_known || terms.leakage.size() > kLeakageRowsMax) {
    return Error(ErrorCode::invalid_argument,
                 "a job's leakage must be at most " + std::to_string(kLeakageRowsMax) + " rows of docs/VERTICAL.md");
  }
  return {};
}

Bytes approval_message(const VerticalJobId& job, const Digest& manifest) {
  const ByteView domain = as_bytes(kApprovalDomain);
  Bytes message(domain.begin(), domain.end());
  message.insert(message.end(), job.begin(), job.end());
  message.insert(message.end(), manifest.bytes.begin(), manifest.bytes.end());
  return message;
}

bool is_job_reason(std::string_view text) {
  return !text.empty() && text.size() <= kJobReasonBytesMax &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace coterie::vertical
