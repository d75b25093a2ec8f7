#include "vertical/coordinator/job_record.h"

#include <algorithm>

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

bool is_over(JobState state) {
  return state == JobState::done || state == JobState::failed || state == JobState::cancelled;
}

Status check_terms(const JobTerms& terms) {
  for (const std::string& name : terms.parties) {
    const bool printable = std::ranges::all_of(name, [](char c) { return c > ' ' && c < 127; });
    if (name.empty() || name.size() > kPartyNameBytesMax || !printable) {
      return Error(ErrorCode::invalid_argument,
                   "a party's name must have 1 to " + std::to_string(kPartyNameBytesMax) + " visible ASCII characters");
    }
  }
  if (terms.parties[0] == terms.parties[1]) {
    return Error(ErrorCode::invalid_argument, "the two parties must have different names");
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
