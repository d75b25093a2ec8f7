// The parts that requests and answers of a coordinator are made of. Private to coordinator_wire.cc and job_survey.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vertical/coordinator/coordinator_wire.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

inline constexpr uint8_t kJobAnswerKind = 64, kRefusalKind = 65, kSurveyAnswerKind = 66;

Error malformed_at_coordinator(const std::string& what);

// At most 255 bytes.
void write_text(WireWriter& writer, std::string_view text);
std::string read_text(WireReader& reader);
// A byte of 0 or 1; `is_wrong` becomes true for another one.
bool read_flag(WireReader& reader, bool& is_wrong);
void read_into(WireReader& reader, VerticalJobId& job);
void write_progress(WireWriter& writer, const StageProgress& progress);
StageProgress read_progress(WireReader& reader, bool& is_wrong);
void write_view(WireWriter& writer, const JobView& view);
Result<JobView> read_view(WireReader& reader);

// malformed, unsupported_version.
Result<uint8_t> kind_in_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes);
uint32_t length_in_header(std::span<const uint8_t, kCoordinatorHeaderBytes> bytes);
Bytes with_coordinator_header(uint8_t kind, const Bytes& payload);
// The refusal's error; malformed for an answer of another kind than `wanted`.
Status expect_answer(uint8_t wanted, std::span<const uint8_t, kCoordinatorHeaderBytes> header, ByteView payload);

}  // namespace coterie::vertical
