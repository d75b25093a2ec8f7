#include "vertical/coordinator/coordinator_wire.h"

#include <algorithm>

#include "vertical/coordinator/answer_parts.h"
#include "vertical/regression/product_plan.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {
namespace {

constexpr size_t kDealBytes = 20 + 32 + 4 + 1;        // shape, session, first step, whether a product
constexpr size_t kProgressBytes = 1 + 1 + 4 + 4 + 8;  // stage, whether over, units, all units, bytes

bool has_digest(RequestKind kind) {
  return kind == RequestKind::approve || kind == RequestKind::join || kind == RequestKind::deal;
}

size_t request_bytes_max(RequestKind kind) {
  const size_t job = VerticalJobId{}.size(), digest = Digest{}.bytes.size();
  switch (kind) {
    case RequestKind::submit: return kManifestBytesMax;
    case RequestKind::approve: return job + digest + kApprovalBytesMax;
    case RequestKind::status:
    case RequestKind::cancel:
    case RequestKind::pause:
    case RequestKind::resume: return job;
    case RequestKind::join: return job + digest + 1;
    case RequestKind::report: return job + 2 + kJobReasonBytesMax;
    case RequestKind::deal: return job + digest + kDealBytes;
    case RequestKind::progress: return job + kProgressBytes;
    case RequestKind::survey: return job + 1;
  }
  return 0;
}

}  // namespace

Bytes write_request(const Request& request) {
  WireWriter writer;
  if (request.kind == RequestKind::submit) {
    writer.raw(as_bytes(request.manifest));
  } else {
    writer.raw(request.job);
  }
  if (has_digest(request.kind)) writer.digest(request.digest);
  if (request.kind == RequestKind::approve) writer.raw(request.signature);
  if (request.kind == RequestKind::join && request.peer) writer.u8(static_cast<uint8_t>(*request.peer));
  if (request.kind == RequestKind::report) {
    writer.u8(request.is_done ? 1 : 0);
    write_text(writer, request.reason);
  }
  if (request.kind == RequestKind::deal) {
    const RegressionShape& shape = request.shape;
    for (const uint32_t number : {shape.rows, shape.label_columns, shape.feature_columns, shape.batch, shape.epochs}) {
      writer.u32(number);
    }
    writer.digest(request.session);
    writer.u32(request.first_step);
    writer.u8(request.is_product ? 1 : 0);
  }
  if (request.kind == RequestKind::progress) write_progress(writer, request.progress);
  if (request.kind == RequestKind::survey) writer.u8(static_cast<uint8_t>(request.survey));
  return with_coordinator_header(static_cast<uint8_t>(request.kind), writer.take());
}

Result<RequestHeader> read_request_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  COT_ASSIGN(const uint8_t number, kind_in_header(bytes));
  if (number < 1 || number > static_cast<uint8_t>(RequestKind::survey)) {
    return malformed_at_coordinator("a request of kind " + std::to_string(number) + " came");
  }
  const RequestHeader header{.kind = static_cast<RequestKind>(number), .length = length_in_header(bytes)};
  if (header.length > request_bytes_max(header.kind)) {
    return malformed_at_coordinator("a request of " + std::to_string(header.length) + " bytes came, at most " +
                                    std::to_string(request_bytes_max(header.kind)) + " are allowed");
  }
  return header;
}

Result<Request> read_request(RequestKind kind, ByteView payload) {
  Request request;
  request.kind = kind;
  WireReader reader(payload);
  bool is_wrong = false;
  if (kind == RequestKind::submit) {
    request.manifest = std::string(as_text(reader.raw(payload.size())));
  } else {
    read_into(reader, request.job);
  }
  if (has_digest(kind)) request.digest = reader.digest();
  if (kind == RequestKind::approve) {
    const ByteView signature = reader.raw(reader.rest().size());
    request.signature.assign(signature.begin(), signature.end());
  }
  if (kind == RequestKind::join && !reader.rest().empty()) request.peer = reader.u8();
  if (kind == RequestKind::report) {
    request.is_done = read_flag(reader, is_wrong);
    request.reason = read_text(reader);
    if (request.is_done ? !request.reason.empty() : !is_job_reason(request.reason)) {
      return malformed_at_coordinator("a report without its reason came");
    }
  }
  if (kind == RequestKind::deal) {
    RegressionShape& shape = request.shape;
    for (uint32_t* number : {&shape.rows, &shape.label_columns, &shape.feature_columns, &shape.batch, &shape.epochs}) {
      *number = reader.u32();
    }
    // The dealer's work follows from the shape: it is in range before anybody deals.
    if (Status status = check_regression_shape(shape); !status)
      return malformed_at_coordinator(status.error().message());
    request.session = reader.digest();
    request.first_step = reader.u32();
    request.is_product = read_flag(reader, is_wrong);
    const uint32_t steps = request.is_product ? 1 : RingPlan(shape).steps();
    if (request.first_step >= steps) return malformed_at_coordinator("a step that is none of the shape's came");
    if (const Status status = check_product_shape(shape); request.is_product && !status) {
      return malformed_at_coordinator(status.error().message());
    }
  }
  if (kind == RequestKind::progress) request.progress = read_progress(reader, is_wrong);
  if (kind == RequestKind::survey) {
    const uint8_t of = reader.u8();
    is_wrong = is_wrong || of > static_cast<uint8_t>(SurveyOf::one);
    if (!is_wrong) request.survey = static_cast<SurveyOf>(of);
    is_wrong = is_wrong || (request.survey == SurveyOf::all_from_first && request.job != VerticalJobId{});
  }
  if (is_wrong || !reader.ended()) return malformed_at_coordinator("a request with too few or too many bytes came");
  return request;
}

JobView view_of(const JobRecord& record) {
  JobView view{.job = record.job, .manifest = record.manifest, .state = record.state, .reason = record.reason};
  view.parties.clear();
  for (const PartyRecord& party : record.parties) {
    view.parties.push_back({.name = party.name,
                            .is_approved = party.approval.has_value(),
                            .is_done = party.is_done,
                            .is_paused = party.is_paused,
                            .relayed_bytes = party.relayed_bytes});
  }
  return view;
}

Bytes write_answer(const JobView& view) {
  WireWriter writer;
  write_view(writer, view);
  return with_coordinator_header(kJobAnswerKind, writer.take());
}

Bytes write_refusal(Refusal refusal) {
  return with_coordinator_header(kRefusalKind, Bytes{static_cast<uint8_t>(refusal)});
}

Result<uint32_t> read_answer_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  COT_ASSIGN(const uint8_t kind, kind_in_header(bytes));
  const uint32_t length = length_in_header(bytes);
  const bool is_survey = kind == kSurveyAnswerKind && length <= kSurveyBytesMax;
  const bool is_answer = (kind == kJobAnswerKind || kind == kRefusalKind) && length <= kAnswerBytesMax;
  if (!is_survey && !is_answer) {
    return malformed_at_coordinator("an answer of kind " + std::to_string(kind) + " with " + std::to_string(length) +
                                    " bytes came");
  }
  return length;
}

Result<JobView> read_answer(std::span<const uint8_t, kCoordinatorHeaderBytes> header, ByteView payload) {
  COT_TRY(expect_answer(kJobAnswerKind, header, payload));
  WireReader reader(payload);
  COT_ASSIGN(JobView view, read_view(reader));
  if (!reader.ended()) return malformed_at_coordinator("an answer that does not decode came");
  return view;
}

}  // namespace coterie::vertical
