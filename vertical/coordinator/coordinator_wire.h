// What a party asks a coordinator for, and what it hears. All numbers are little-endian.
//
//   "CTR", version u8, kind u8, 3 zero bytes, length u32, then `length` bytes
//
// A connection has one request and one answer. After the answer to a join come the other party's bytes, which the
// coordinator cannot read; after the one to a deal, frames (vertical/link/frame.h) of the coordinator's own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/coordinator/job_record.h"
#include "vertical/coordinator/refusal.h"
#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

inline constexpr uint8_t kCoordinatorVersion = 2;
inline constexpr size_t kCoordinatorHeaderBytes = 12;
inline constexpr size_t kManifestBytesMax = 1 << 16;
inline constexpr size_t kAnswerBytesMax = 1 << 12;
inline constexpr size_t kSurveyBytesMax = 12 << 10;  // of rows: with its header it is one record of TLS

enum class RequestKind : uint8_t {
  submit = 1,
  approve,
  status,
  cancel,
  join,
  report,
  deal,
  pause,
  resume,
  progress,  // a party says how far it has come in a stage
  survey     // an operator asks for jobs (job_survey.h)
};

// What a survey is of.
enum class SurveyOf : uint8_t { all_from_first, all_behind, one };

struct Request {
  RequestKind kind = RequestKind::status;
  std::string manifest;     // submit
  VerticalJobId job{};      // all others; zeros in a survey from the first
  Digest digest;            // approve, join, deal
  Bytes signature;          // approve
  bool is_done = false;     // report
  std::string reason;       // report of a failure, as is_job_reason() wants it
  RegressionShape shape;    // deal, like the two below
  Digest session;           // of both parties' journals: the same words are dealt to the same two alone
  uint32_t first_step = 0;  // of the shape's: what was dealt before is not dealt again
  bool is_product = false;  // one product of tables (product_dealing.h) in place of a training's steps; first_step is 0
  StageProgress progress;   // progress
  SurveyOf survey = SurveyOf::all_from_first;  // survey: `job` is the one, or the one that the answer begins behind
  // join, of a job of more than two parties: to whom, another party or kMatcher. None where there is just one other.
  std::optional<PartyIndex> peer = {};
};

Bytes write_request(const Request& request);
struct RequestHeader {
  RequestKind kind = RequestKind::status;
  uint32_t length = 0;
};
// malformed; nothing is allocated before, and no length is above what its kind needs.
Result<RequestHeader> read_request_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes);
Result<Request> read_request(RequestKind kind, ByteView payload);

// What a party may know of its job.
struct JobView {
  struct Party {
    std::string name;
    bool is_approved = false, is_done = false, is_paused = false;
    uint64_t relayed_bytes = 0;
    friend bool operator==(const Party&, const Party&) = default;
  };
  VerticalJobId job{};
  Digest manifest;
  JobState state = JobState::created;
  std::string reason;
  std::vector<Party> parties = std::vector<Party>(kJobPartiesMin);
  friend bool operator==(const JobView&, const JobView&) = default;
};
JobView view_of(const JobRecord& record);

Bytes write_answer(const JobView& view);
Bytes write_refusal(Refusal refusal);
// The length of what follows, at most kAnswerBytesMax, or kSurveyBytesMax of a survey; malformed,
// unsupported_version.
Result<uint32_t> read_answer_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes);
// `header` as above. The refusal's error, or malformed.
Result<JobView> read_answer(std::span<const uint8_t, kCoordinatorHeaderBytes> header, ByteView payload);

}  // namespace coterie::vertical
