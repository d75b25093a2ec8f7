#include "vertical/coordinator/job_survey.h"

#include "vertical/coordinator/answer_parts.h"

namespace coterie::vertical {
namespace {

void write_stage(WireWriter& writer, const std::optional<StageRecord>& stage) {
  writer.u8(stage ? 1 : 0);
  if (!stage) return;
  for (const WallTime time : {stage->begun, stage->since, stage->heard}) {
    writer.u64(static_cast<uint64_t>(unix_ms(time)));
  }
  writer.u32(stage->units_since);
  write_progress(writer, stage->last);
}

void write_job(WireWriter& writer, const SurveyedJob& job) {
  write_view(writer, job.view);
  write_text(writer, job.kind);
  writer.u8(static_cast<uint8_t>(job.leakage.size()));
  for (const std::string& id : job.leakage) write_text(writer, id);
  writer.u8(static_cast<uint8_t>(job.submitted_by));
  writer.u64(static_cast<uint64_t>(unix_ms(job.changed)));
  writer.u8(job.is_paused_by_operator ? 1 : 0);
  for (const StageRecords& stages : job.stages) {
    for (const std::optional<StageRecord>& stage : stages) write_stage(writer, stage);
  }
}

WallTime read_time(WireReader& reader, bool& is_wrong) {
  constexpr uint64_t kMax = uint64_t{1} << 53;  // as JSON has it
  const uint64_t ms = reader.u64();
  is_wrong = is_wrong || ms > kMax;
  return wall_time_from_unix_ms(is_wrong ? 0 : static_cast<int64_t>(ms));
}

std::optional<StageRecord> read_stage(WireReader& reader, JobStage stage, bool& is_wrong) {
  if (!read_flag(reader, is_wrong)) return std::nullopt;
  StageRecord record;
  for (WallTime* time : {&record.begun, &record.since, &record.heard}) *time = read_time(reader, is_wrong);
  record.units_since = reader.u32();
  record.last = read_progress(reader, is_wrong);
  is_wrong = is_wrong || record.last.stage != stage || record.heard < record.since;
  return record;
}

Result<SurveyedJob> read_job(WireReader& reader) {
  SurveyedJob job;
  COT_ASSIGN(job.view, read_view(reader));
  JobTerms terms;
  terms.parties.clear();
  for (const JobView::Party& party : job.view.parties) terms.parties.push_back(party.name);
  bool is_wrong = false;
  terms.kind = read_text(reader);
  const uint8_t rows = reader.u8();
  for (uint8_t row = 0; row < rows && reader.ok(); ++row) terms.leakage.push_back(read_text(reader));
  job.submitted_by = reader.u8();
  is_wrong = is_wrong || job.submitted_by >= terms.parties.size();
  job.changed = read_time(reader, is_wrong);
  job.is_paused_by_operator = read_flag(reader, is_wrong);
  job.stages.resize(terms.parties.size());
  for (StageRecords& stages : job.stages) {
    for (size_t i = 0; i < stages.size(); ++i) stages[i] = read_stage(reader, kJobStages[i], is_wrong);
  }
  if (is_wrong || !reader.ok() || !check_terms(terms)) {
    return malformed_at_coordinator("a survey that does not decode came");
  }
  job.kind = std::move(terms.kind);
  job.leakage = std::move(terms.leakage);
  return job;
}

}  // namespace

SurveyedJob surveyed(const JobRecord& record) {
  SurveyedJob job{.view = view_of(record),
                  .kind = record.kind,
                  .leakage = record.leakage,
                  .submitted_by = record.submitted_by,
                  .changed = record.changed,
                  .is_paused_by_operator = record.is_paused_by_operator,
                  .stages = {}};
  for (const PartyRecord& party : record.parties) job.stages.push_back(party.stages);
  return job;
}

Bytes write_survey(std::span<const JobRecord* const> records) {
  WireWriter rows;
  size_t bytes = 2, count = 0;  // of the two bytes before the rows
  while (count < records.size() && count < 255) {
    WireWriter writer;
    write_job(writer, surveyed(*records[count]));
    const Bytes row = writer.take();
    if (count > 0 && bytes + row.size() > kSurveyBytesMax) break;
    bytes += row.size();
    rows.raw(row);
    ++count;
  }
  WireWriter payload;
  payload.u8(static_cast<uint8_t>(count));
  payload.u8(count < records.size() ? 1 : 0);
  payload.raw(rows.take());
  return with_coordinator_header(kSurveyAnswerKind, payload.take());
}

Result<JobSurvey> read_survey(std::span<const uint8_t, kCoordinatorHeaderBytes> header, ByteView payload) {
  COT_TRY(expect_answer(kSurveyAnswerKind, header, payload));
  WireReader reader(payload);
  JobSurvey survey;
  bool is_wrong = false;
  const uint8_t count = reader.u8();
  survey.has_more = read_flag(reader, is_wrong);
  for (uint8_t i = 0; i < count; ++i) {
    COT_ASSIGN(SurveyedJob job, read_job(reader));
    // In order, so that whoever asks for those behind the last one comes to an end.
    is_wrong = is_wrong || (!survey.jobs.empty() && job.view.job <= survey.jobs.back().view.job);
    survey.jobs.push_back(std::move(job));
  }
  if (is_wrong || !reader.ended() || (survey.has_more && survey.jobs.empty())) {
    return malformed_at_coordinator("a survey that does not decode came");
  }
  return survey;
}

}  // namespace coterie::vertical
