#include "vertical/coordinator/coordinator_wire.h"

#include <algorithm>

namespace coterie::vertical {
namespace {

constexpr std::array<uint8_t, 3> kMagic{'C', 'T', 'R'};
constexpr size_t kDealBytes = 20 + 32 + 4;  // shape, session, first step
constexpr uint8_t kAnswerKind = 64, kRefusalKind = 65;

template <typename T>
void append_number(Bytes& to, T value) {
  for (size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<uint8_t>(uint64_t{value} >> (8 * i)));
}

void append_text(Bytes& to, std::string_view text) {
  to.push_back(static_cast<uint8_t>(text.size()));
  to.insert(to.end(), text.begin(), text.end());
}

void append(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

Bytes with_header(uint8_t kind, const Bytes& payload) {
  Bytes bytes(kMagic.begin(), kMagic.end());
  bytes.insert(bytes.end(), {kCoordinatorVersion, kind, 0, 0, 0});
  append_number(bytes, static_cast<uint32_t>(payload.size()));
  append(bytes, payload);
  return bytes;
}

// Takes a payload apart from the front; what is not there reads as zeros, and is_whole() tells.
class Reader {
 public:
  explicit Reader(ByteView bytes) : left_(bytes) {}

  ByteView take(size_t count) {
    if (count > left_.size()) {
      is_short_ = true;
      return {};
    }
    const ByteView taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  template <size_t kBytes>
  void take_into(std::array<uint8_t, kBytes>& to) {
    const ByteView taken = take(kBytes);
    std::ranges::copy(taken, to.begin());
  }
  uint64_t number(size_t count) {
    uint64_t value = 0;
    const ByteView taken = take(count);
    for (size_t i = 0; i < taken.size(); ++i) value |= uint64_t{taken[i]} << (8 * i);
    return value;
  }
  bool flag() {
    const uint64_t value = number(1);
    if (value > 1) is_short_ = true;
    return value == 1;
  }
  std::string text() { return std::string(as_text(take(number(1)))); }
  ByteView rest() { return take(left_.size()); }
  bool is_whole() const { return !is_short_ && left_.empty(); }

 private:
  ByteView left_;
  bool is_short_ = false;
};

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
  return static_cast<uint32_t>(Reader(bytes.last<4>()).number(4));
}

}  // namespace

Bytes write_request(const Request& request) {
  Bytes payload;
  if (request.kind == RequestKind::submit) {
    append(payload, as_bytes(request.manifest));
  } else {
    append(payload, request.job);
  }
  if (has_digest(request.kind)) append(payload, request.digest.view());
  if (request.kind == RequestKind::approve) append(payload, request.signature);
  if (request.kind == RequestKind::report) {
    payload.push_back(request.is_done ? 1 : 0);
    append_text(payload, request.reason);
  }
  if (request.kind == RequestKind::deal) {
    const RegressionShape& shape = request.shape;
    for (const uint32_t number : {shape.rows, shape.label_columns, shape.feature_columns, shape.batch, shape.epochs}) {
      append_number(payload, number);
    }
    append(payload, request.session.view());
    append_number(payload, request.first_step);
  }
  return with_header(static_cast<uint8_t>(request.kind), payload);
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
  Reader reader(payload);
  if (kind == RequestKind::submit) {
    request.manifest = std::string(as_text(reader.rest()));
  } else {
    reader.take_into(request.job);
  }
  if (has_digest(kind)) reader.take_into(request.digest.bytes);
  if (kind == RequestKind::approve) {
    const ByteView signature = reader.rest();
    request.signature.assign(signature.begin(), signature.end());
  }
  if (kind == RequestKind::report) {
    request.is_done = reader.flag();
    request.reason = reader.text();
    if (request.is_done ? !request.reason.empty() : !is_job_reason(request.reason)) {
      return malformed("a report without its reason came");
    }
  }
  if (kind == RequestKind::deal) {
    RegressionShape& shape = request.shape;
    for (uint32_t* number : {&shape.rows, &shape.label_columns, &shape.feature_columns, &shape.batch, &shape.epochs}) {
      *number = static_cast<uint32_t>(reader.number(4));
    }
    if (Status status = check_regression_shape(shape); !status) return malformed(status.error().message());
    reader.take_into(request.session.bytes);
    request.first_step = static_cast<uint32_t>(reader.number(4));
    if (request.first_step >= RingPlan(shape).steps()) return malformed("a step that is none of the shape's came");
  }
  if (!reader.is_whole()) return malformed("a request with too few or too many bytes came");
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
  Bytes payload;
  append(payload, view.job);
  append(payload, view.manifest.view());
  payload.push_back(static_cast<uint8_t>(view.state));
  append_text(payload, view.reason);
  for (const JobView::Party& party : view.parties) {
    append_text(payload, party.name);
    payload.push_back(party.is_approved ? 1 : 0);
    payload.push_back(party.is_done ? 1 : 0);
    payload.push_back(party.is_paused ? 1 : 0);
    append_number(payload, party.relayed_bytes);
  }
  return with_header(kAnswerKind, payload);
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
  Reader reader(payload);
  if (kind == kRefusalKind) {
    const std::optional<Refusal> refusal = refusal_of(static_cast<uint8_t>(reader.number(1)));
    if (!refusal || !reader.is_whole()) return malformed("it refuses for a reason that this program does not know");
    return refusal_error(*refusal);
  }
  JobView view;
  reader.take_into(view.job);
  reader.take_into(view.manifest.bytes);
  const uint64_t state = reader.number(1);
  if (state < 1 || state > static_cast<uint64_t>(JobState::paused)) return malformed("an unknown state came");
  view.state = static_cast<JobState>(state);
  view.reason = reader.text();
  if (!view.reason.empty() && !is_job_reason(view.reason)) return malformed("a reason that is none came");
  JobTerms terms;
  for (size_t i = 0; i < kJobParties; ++i) {
    JobView::Party& party = view.parties[i];
    party.name = reader.text();
    party.is_approved = reader.flag();
    party.is_done = reader.flag();
    party.is_paused = reader.flag();
    party.relayed_bytes = reader.number(8);
    terms.parties[i] = party.name;
  }
  if (!reader.is_whole() || !check_terms(terms)) return malformed("an answer that does not decode came");
  return view;
}

}  // namespace coterie::vertical
