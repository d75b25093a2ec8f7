// What a party reads of its peer, its coordinator and its own disk, each chosen by the first byte. What decodes is what
// writing it again gives. Where bytes end with their own digest, it is put behind them here, as no mutation gets it
// right.
#include <algorithm>
#include <array>
#include <optional>

#include "base/assert.h"
#include "secure/crypto/digest.h"
#include "vertical/coordinator/coordinator_wire.h"
#include "vertical/coordinator/job_survey.h"
#include "vertical/link/frame.h"
#include "vertical/regression/regression_checkpoint.h"
#include "vertical/regression/regression_model.h"
#include "vertical/resume/run_position.h"
#include "vertical/trees/tree_checkpoint.h"

namespace {

using namespace coterie;
using namespace coterie::vertical;

Bytes with_digest(ByteView body) {
  Bytes bytes(body.begin(), body.end());
  const Digest digest = content_digest(body);
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
  return bytes;
}

void try_request(ByteView input) {
  if (input.size() < kCoordinatorHeaderBytes) return;
  const auto header = input.first<kCoordinatorHeaderBytes>();
  const ByteView payload = input.subspan(kCoordinatorHeaderBytes);
  const Result<RequestHeader> head = read_request_header(header);
  if (!head || head->length != payload.size()) return;
  const Result<Request> read = read_request(head->kind, payload);
  if (read) COT_ASSERT(std::ranges::equal(write_request(*read), input));
}

void try_answer(ByteView input) {
  if (input.size() < kCoordinatorHeaderBytes) return;
  const auto header = input.first<kCoordinatorHeaderBytes>();
  const ByteView payload = input.subspan(kCoordinatorHeaderBytes);
  const Result<uint32_t> length = read_answer_header(header);
  if (!length || *length != payload.size()) return;
  const Result<JobView> read = read_answer(header, payload);
  if (read) COT_ASSERT(std::ranges::equal(write_answer(*read), input));
}

// Its writer takes a coordinator's records, which say more: what is read twice is the same.
void try_survey(ByteView input) {
  if (input.size() < kCoordinatorHeaderBytes) return;
  const auto header = input.first<kCoordinatorHeaderBytes>();
  const ByteView payload = input.subspan(kCoordinatorHeaderBytes);
  const Result<uint32_t> length = read_answer_header(header);
  if (!length || *length != payload.size()) return;
  const Result<JobSurvey> read = read_survey(header, payload);
  if (!read) return;
  std::vector<JobRecord> records;
  for (const SurveyedJob& job : read->jobs) {
    JobRecord record{.job = job.view.job,
                     .manifest = job.view.manifest,
                     .submitted_by = job.submitted_by,
                     .state = job.view.state,
                     .reason = job.view.reason,
                     .changed = job.changed,
                     .kind = job.kind,
                     .leakage = job.leakage,
                     .is_paused_by_operator = job.is_paused_by_operator};
    record.parties.resize(job.view.parties.size());
    for (size_t i = 0; i < record.parties.size(); ++i) {
      const JobView::Party& party = job.view.parties[i];
      record.parties[i] = {.name = party.name,
                           .approval = party.is_approved ? std::optional(PartyApproval{}) : std::nullopt,
                           .is_done = party.is_done,
                           .is_paused = party.is_paused,
                           .relayed_bytes = party.relayed_bytes,
                           .stages = job.stages[i]};
    }
    records.push_back(std::move(record));
  }
  std::vector<const JobRecord*> list;
  for (const JobRecord& record : records) list.push_back(&record);
  const Bytes again = write_survey(list);
  // All but the byte that says whether there is more behind them.
  constexpr size_t kRows = kCoordinatorHeaderBytes + 2;
  COT_ASSERT(std::ranges::equal(ByteView(again).subspan(kRows), input.subspan(kRows)));
}

void try_frame(ByteView input) {
  std::array<uint8_t, kFrameHeaderBytes> bytes;
  if (input.size() != bytes.size() + 1) return;
  std::ranges::copy(input.subspan(1), bytes.begin());
  const Result<FrameHeader> read = read_frame_header(bytes, static_cast<StageId>(1 + input[0] % 5), 0);
  if (read) COT_ASSERT(read->length <= kMessageBytesMax && write_frame_header(*read) == bytes);
}

// Its writer is inside: what was taken is said again.
void try_position(ByteView input) {
  PositionExchange exchange({}, 1);
  const std::optional<Message> own = exchange.next();
  if (!exchange.receive({.peer = 1, .kind = own->kind, .payload = Bytes(input.begin(), input.end())})) return;
  COT_ASSERT(exchange.done());
  const Result<RunStart> start = common_start(exchange.peers(), exchange.peers(), exchange.peers().journal);
  COT_ASSERT(start && (start->is_trained || !start->is_predicted));
  PositionExchange again(exchange.peers(), 1);
  const Bytes said = again.next()->payload;
  PositionExchange third({}, 1);
  COT_ASSERT(third.receive({.peer = 1, .kind = own->kind, .payload = said}));
  COT_ASSERT(third.peers() == exchange.peers());
}

template <typename Read>
void try_trees(ByteView input, Read read) {
  const Bytes bytes = with_digest(input);
  const auto model = read(bytes);
  // A direction is any byte but zero, so that the bytes may be others: what they say is not.
  if (model) COT_ASSERT(*read(write_tree_model(*model)) == *model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView input = ByteView(data, size).subspan(1);
  switch (data[0] % 9) {
    case 0: try_request(input); break;
    case 1: try_answer(input); break;
    case 2: try_frame(input); break;
    case 3: try_position(input); break;
    case 4: try_trees(input, [](ByteView bytes) { return read_label_tree_model(bytes); }); break;
    case 5:
      try_trees(input, [](ByteView bytes) { return read_feature_tree_model(bytes, TreesOf::training_so_far); });
      break;
    case 6: {
      const Result<RegressionCheckpoint> read = read_regression_checkpoint(input);
      if (read) COT_ASSERT(std::ranges::equal(write_regression_checkpoint(*read), input));
      break;
    }
    case 7: {
      const Result<RegressionModel> read = read_regression_model(input);
      if (read) COT_ASSERT(std::ranges::equal(write_regression_model(*read), input));
      break;
    }
    default: try_survey(input); break;
  }
  return 0;
}
