#include "vertical/coordinator/coordinator_wire.h"

#include <algorithm>

#include "vertical/regression/product_plan.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {
namespace {

constexpr std::array<uint8_t, 3> kMagic{'C', 'T', 'R'};
constexpr size_t kDealBytes = 20 + 32 + 4 + 1;  // shape, session, first step, whether a product
constexpr uint8_t kAnswerKind = 64, kRefusalKind = 65;

void write_text(WireWriter& writer, std::string_view text) {
  writer.u8(static_cast<uint8_t>(text.size()));
  writer.raw(as_bytes(text));
}

std::string read_text(WireReader& reader) {
  const size_t count = reader.u8();
  return std::string(as_text(reader.raw(count)));
}

// A byte of 0 or 1; `is_wrong` becomes true for another one.
bool read_flag(WireReader& reader, bool& is_wrong) {
  const uint8_t value = reader.u8();
  is_wrong = is_wrong || value > 1;
  return value == 1;
}

void read_into(WireReader& reader, VerticalJobId& job) { std::ranges::copy(reader.raw(job.size()), job.begin()); }

Bytes with_header(uint8_t kind, const Bytes& payload) {
  WireWriter writer;
  writer.raw(kMagic);
  for (const uint8_t byte : {kCoordinatorVersion, kind, uint8_t{0}, uint8_t{0}, uint8_t{0}}) writer.u8(byte);
  writer.u32(static_cast<uint32_t>(payload.size()));
  writer.raw(payload);
  return writer.take();
}

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
    case RequestKind::join: return job + digest;
    case RequestKind::report: return job + 2 + kJobReasonBytesMax;
    case RequestKind::deal: return job + digest + kDealBytes;
  }
  return 0;
}

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "coordinator: " + what); }

Result<uint8_t> kind_of(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  if (!std::ranges::equal(bytes.first<3>(), kMagic) || bytes[5] != 0 || bytes[6] != 0 || bytes[7] != 0) {
    return malformed("these are not its bytes");
  }
  if (bytes[3] != kCoordinatorVersion) {
    return Error(ErrorCode::unsupported_version, "coordinator: version " + std::to_string(bytes[3]) +
                                                     " came, this program speaks " +
                                                     std::to_string(kCoordinatorVersion));
  }
  return bytes[4];
}

uint32_t length_of(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  return WireReader(bytes.last<4>()).u32();
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
  return with_header(static_cast<uint8_t>(request.kind), writer.take());
}

Result<RequestHeader> read_request_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  COT_ASSIGN(const uint8_t number, kind_of(bytes));
  if (number < 1 || number > static_cast<uint8_t>(RequestKind::resume)) {
    return malformed("a request of kind " + std::to_string(number) + " came");
  }
  const RequestHeader header{.kind = static_cast<RequestKind>(number), .length = length_of(bytes)};
  if (header.length > request_bytes_max(header.kind)) {
    return malformed("a request of " + std::to_string(header.length) + " bytes came, at most " +
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
  if (kind == RequestKind::report) {
    request.is_done = read_flag(reader, is_wrong);
    request.reason = read_text(reader);
    if (request.is_done ? !request.reason.empty() : !is_job_reason(request.reason)) {
      return malformed("a report without its reason came");
    }
  }
  if (kind == RequestKind::deal) {
    RegressionShape& shape = request.shape;
    for (uint32_t* number : {&shape.rows, &shape.label_columns, &shape.feature_columns, &shape.batch, &shape.epochs}) {
      *number = reader.u32();
    }
    // The dealer's work follows from the shape: it is in range before anybody deals.
    if (Status status = check_regression_shape(shape); !status) return malformed(status.error().message());
    request.session = reader.digest();
    request.first_step = reader.u32();
    request.is_product = read_flag(reader, is_wrong);
    const uint32_t steps = request.is_product ? 1 : RingPlan(shape).steps();
    if (request.first_step >= steps) return malformed("a step that is none of the shape's came");
    if (const Status status = check_product_shape(shape); request.is_product && !status) {
      return malformed(status.error().message());
    }
  }
  if (is_wrong || !reader.ended()) return malformed("a request with too few or too many bytes came");
  return request;
}

JobView view_of(const JobRecord& record) {
  JobView view{.job = record.job, .manifest = record.manifest, .state = record.state, .reason = record.reason};
  for (size_t i = 0; i < kJobParties; ++i) {
    const PartyRecord& party = record.parties[i];
    view.parties[i] = {.name = party.name,
                       .is_approved = party.approval.has_value(),
                       .is_done = party.is_done,
                       .is_paused = party.is_paused,
                       .relayed_bytes = party.relayed_bytes};
  }
  return view;
}

Bytes write_answer(const JobView& view) {
  WireWriter writer;
  writer.raw(view.job);
  writer.digest(view.manifest);
  writer.u8(static_cast<uint8_t>(view.state));
  write_text(writer, view.reason);
  for (const JobView::Party& party : view.parties) {
    write_text(writer, party.name);
    for (const bool flag : {party.is_approved, party.is_done, party.is_paused}) writer.u8(flag ? 1 : 0);
    writer.u64(party.relayed_bytes);
  }
  return with_header(kAnswerKind, writer.take());
}

Bytes write_refusal(Refusal refusal) { return with_header(kRefusalKind, Bytes{static_cast<uint8_t>(refusal)}); }

Result<uint32_t> read_answer_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  COT_ASSIGN(const uint8_t kind, kind_of(bytes));
  const uint32_t length = length_of(bytes);
  if ((kind != kAnswerKind && kind != kRefusalKind) || length > kAnswerBytesMax) {
    return malformed("an answer of kind " + std::to_string(kind) + " with " + std::to_string(length) + " bytes came");
  }
  return length;
}

Result<JobView> read_answer(std::span<const uint8_t, kCoordinatorHeaderBytes> header, ByteView payload) {
  COT_ASSIGN(const uint8_t kind, kind_of(header));
  WireReader reader(payload);
  if (kind == kRefusalKind) {
    const std::optional<Refusal> refusal = refusal_of(reader.u8());
    if (!refusal || !reader.ended()) return malformed("it refuses for a reason that this program does not know");
    return refusal_error(*refusal);
  }
  JobView view;
  read_into(reader, view.job);
  view.manifest = reader.digest();
  const uint8_t state = reader.u8();
  if (state < 1 || state > static_cast<uint8_t>(JobState::paused)) return malformed("an unknown state came");
  view.state = static_cast<JobState>(state);
  view.reason = read_text(reader);
  if (!view.reason.empty() && !is_job_reason(view.reason)) return malformed("a reason that is none came");
  JobTerms terms;
  bool is_wrong = false;
  for (size_t i = 0; i < kJobParties; ++i) {
    JobView::Party& party = view.parties[i];
    party.name = read_text(reader);
    for (bool* flag : {&party.is_approved, &party.is_done, &party.is_paused}) *flag = read_flag(reader, is_wrong);
    party.relayed_bytes = reader.u64();
    terms.parties[i] = party.name;
  }
  if (is_wrong || !reader.ended() || !check_terms(terms)) return malformed("an answer that does not decode came");
  return view;
}

}  // namespace coterie::vertical
