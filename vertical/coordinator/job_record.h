// JobRecord: what a coordinator knows of a vertical job, and keeps over a restart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "proto/messages/checkin.h"
#include "vertical/coordinator/stage_record.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

using VerticalJobId = std::array<uint8_t, 16>;

inline constexpr size_t kJobPartiesMin = 2, kJobPartiesMax = 8;  // the label party, and feature parties
inline constexpr size_t kPartyNameBytesMax = 253;                // of a DNS name
inline constexpr size_t kJobReasonBytesMax = 64;
inline constexpr size_t kApprovalBytesMax = 256;  // of a signature

// created -> approved -> running -> done, and from all before done also to failed or cancelled. A run that loses a
// party or its coordinator is paused, and runs again when all parties have come back; so is one that a party or an
// operator pauses, until the same one resumes it. The numbers are on the wire.
enum class JobState : uint8_t { created = 1, approved, running, done, failed, cancelled, paused };
std::string_view job_state_name(JobState state);
std::optional<JobState> job_state_from_name(std::string_view name);
bool is_over(JobState state);

// What a party is called among a job's: "label", "feature", and of more than two parties "feature_2" and so on.
std::string party_role(PartyIndex party);

// Whether a certificate may call somebody so, and what it must be, as part of a sentence.
bool is_party_name(std::string_view name);
std::string party_name_rule();

// What a coordinator reads in a manifest.
struct JobTerms {
  VerticalJobId job{};
  Digest manifest;  // SHA-256 of the file
  // Names in their certificates; the label party's first.
  std::vector<std::string> parties = std::vector<std::string>(kJobPartiesMin);
  std::string kind = {};                  // as the manifest says it: is_job_reason(), or empty
  std::vector<std::string> leakage = {};  // ids of leakage rows that it acknowledges
};
// invalid_argument: fewer or more parties than a job has, a name that is empty or too long, or twice the same; a kind
// that is none; unknown leakage rows, or more than kLeakageRowsMax.
Status check_terms(const JobTerms& terms);

// What proves later who agreed to what.
struct PartyApproval {
  KeyAlgorithm algorithm = KeyAlgorithm::p256;
  Bytes public_key;  // of the certificate that the party showed
  Bytes signature;   // over approval_message()
  friend bool operator==(const PartyApproval&, const PartyApproval&) = default;
};

struct PartyRecord {
  std::string name;
  std::optional<PartyApproval> approval;
  bool is_done = false;        // it said so at its end
  bool is_paused = false;      // it paused the job, and has not resumed it
  uint64_t relayed_bytes = 0;  // that it sent to other parties: sealed frames, as the relay saw them
  StageRecords stages = {};    // as it says
  friend bool operator==(const PartyRecord&, const PartyRecord&) = default;
};

struct JobRecord {
  VerticalJobId job{};
  Digest manifest;
  std::vector<PartyRecord> parties = std::vector<PartyRecord>(kJobPartiesMin);
  PartyIndex submitted_by = 0;
  JobState state = JobState::created;
  std::string reason;                     // of failed, cancelled and paused: a-z and _
  WallTime changed;                       // when the state did
  std::string kind = {};                  // of the manifest, like the next; empty where an earlier version stored it
  std::vector<std::string> leakage = {};  // ids of leakage rows
  bool is_paused_by_operator = false;

  // By all parties.
  bool is_approved() const;
  bool is_done_at_all() const;
  bool has_run() const;
  bool is_held() const;
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

// What a party signs with its certificate's key to approve a manifest: "coterie vertical approval 1", a zero byte, the
// job, the digest.
Bytes approval_message(const VerticalJobId& job, const Digest& manifest);

// Whether this may be a record's reason: 1 to kJobReasonBytesMax of a-z and _.
bool is_job_reason(std::string_view text);

}  // namespace coterie::vertical
