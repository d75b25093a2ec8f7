#include "vertical/coordinator/answer_parts.h"

#include <algorithm>

namespace coterie::vertical {
namespace {

constexpr std::array<uint8_t, 3> kMagic{'C', 'T', 'R'};

}  // namespace

Error malformed_at_coordinator(const std::string& what) { return Error(ErrorCode::malformed, "coordinator: " + what); }

void write_text(WireWriter& writer, std::string_view text) {
  writer.u8(static_cast<uint8_t>(text.size()));
  writer.raw(as_bytes(text));
}

std::string read_text(WireReader& reader) {
  const size_t count = reader.u8();
  return std::string(as_text(reader.raw(count)));
}

bool read_flag(WireReader& reader, bool& is_wrong) {
  const uint8_t value = reader.u8();
  is_wrong = is_wrong || value > 1;
  return value == 1;
}

void read_into(WireReader& reader, VerticalJobId& job) { std::ranges::copy(reader.raw(job.size()), job.begin()); }

void write_progress(WireWriter& writer, const StageProgress& progress) {
  writer.u8(static_cast<uint8_t>(progress.stage));
  writer.u8(progress.is_over ? 1 : 0);
  writer.u32(progress.units);
  writer.u32(progress.units_all);
  writer.u64(progress.sent_bytes);
}

StageProgress read_progress(WireReader& reader, bool& is_wrong) {
  StageProgress progress;
  const uint8_t stage = reader.u8();
  is_wrong = is_wrong || stage < 1 || stage > kJobStages.size();
  if (!is_wrong) progress.stage = static_cast<JobStage>(stage);
  progress.is_over = read_flag(reader, is_wrong);
  progress.units = reader.u32();
  progress.units_all = reader.u32();
  progress.sent_bytes = reader.u64();
  is_wrong = is_wrong || !check_stage_progress(progress);
  return progress;
}

Bytes with_coordinator_header(uint8_t kind, const Bytes& payload) {
  WireWriter writer;
  writer.raw(kMagic);
  for (const uint8_t byte : {kCoordinatorVersion, kind, uint8_t{0}, uint8_t{0}, uint8_t{0}}) writer.u8(byte);
  writer.u32(static_cast<uint32_t>(payload.size()));
  writer.raw(payload);
  return writer.take();
}

Result<uint8_t> kind_in_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  if (!std::ranges::equal(bytes.first<3>(), kMagic) || bytes[5] != 0 || bytes[6] != 0 || bytes[7] != 0) {
    return malformed_at_coordinator("these are not its bytes");
  }
  if (bytes[3] != kCoordinatorVersion) {
    return Error(ErrorCode::unsupported_version, "coordinator: version " + std::to_string(bytes[3]) +
                                                     " came, this program speaks " +
                                                     std::to_string(kCoordinatorVersion));
  }
  return bytes[4];
}

uint32_t length_in_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes) {
  return WireReader(bytes.last<4>()).u32();
}

void write_view(WireWriter& writer, const JobView& view) {
  writer.raw(view.job);
  writer.digest(view.manifest);
  // The upper half of a byte says how many parties there are beyond two: none to who knows of no more.
  writer.u8(static_cast<uint8_t>(static_cast<size_t>(view.state) | (view.parties.size() - kJobPartiesMin) << 4));
  write_text(writer, view.reason);
  for (const JobView::Party& party : view.parties) {
    write_text(writer, party.name);
    for (const bool flag : {party.is_approved, party.is_done, party.is_paused}) writer.u8(flag ? 1 : 0);
    writer.u64(party.relayed_bytes);
  }
}

Status expect_answer(uint8_t wanted, std::span<const uint8_t, kCoordinatorHeaderBytes> header, ByteView payload) {
  COT_ASSIGN(const uint8_t kind, kind_in_header(header));
  if (kind == kRefusalKind) {
    WireReader reader(payload);
    const std::optional<Refusal> refusal = refusal_of(reader.u8());
    if (!refusal || !reader.ended())
      return malformed_at_coordinator("it refuses for a reason that this program does not know");
    return refusal_error(*refusal);
  }
  if (kind != wanted)
    return malformed_at_coordinator("an answer of kind " + std::to_string(kind) + " came to another question");
  return {};
}

Result<JobView> read_view(WireReader& reader) {
  JobView view;
  read_into(reader, view.job);
  view.manifest = reader.digest();
  const uint8_t first = reader.u8();
  const uint8_t state = first & 15;
  const size_t parties = kJobPartiesMin + (first >> 4);
  if (state < 1 || state > static_cast<uint8_t>(JobState::paused) || parties > kJobPartiesMax)
    return malformed_at_coordinator("an unknown state came");
  view.state = static_cast<JobState>(state);
  view.reason = read_text(reader);
  if (!view.reason.empty() && !is_job_reason(view.reason))
    return malformed_at_coordinator("a reason that is none came");
  JobTerms terms;
  bool is_wrong = false;
  terms.parties.clear();
  view.parties.resize(parties);
  for (JobView::Party& party : view.parties) {
    party.name = read_text(reader);
    for (bool* flag : {&party.is_approved, &party.is_done, &party.is_paused}) *flag = read_flag(reader, is_wrong);
    party.relayed_bytes = reader.u64();
    terms.parties.push_back(party.name);
  }
  if (is_wrong || !reader.ok() || !check_terms(terms))
    return malformed_at_coordinator("an answer that does not decode came");
  return view;
}

}  // namespace coterie::vertical
