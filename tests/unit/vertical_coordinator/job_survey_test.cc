// What an operator hears of jobs, as bytes: pages, and what is none.
#include "vertical/coordinator/job_survey.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie::vertical {
namespace {

std::span<const uint8_t, kCoordinatorHeaderBytes> header_of(const Bytes& bytes) {
  return std::span<const uint8_t, kCoordinatorHeaderBytes>(bytes.data(), kCoordinatorHeaderBytes);
}
ByteView payload_of(const Bytes& bytes) { return ByteView(bytes).subspan(kCoordinatorHeaderBytes); }
Result<JobSurvey> read(const Bytes& bytes) { return read_survey(header_of(bytes), payload_of(bytes)); }

JobRecord typical(uint8_t first) {
  JobRecord record{.job = {first},
                   .submitted_by = 1,
                   .state = JobState::paused,
                   .reason = "operator_paused",
                   .changed = wall_time_from_unix_ms(1'700'000'000'000),
                   .kind = "vertical_trees",
                   .leakage = {"L1", "L3", "L4"},
                   .is_paused_by_operator = true};
  record.parties[0] = {.name = "label", .approval = PartyApproval{}, .relayed_bytes = 5};
  record.parties[1] = {.name = "feature", .is_paused = true};
  hear_stage(record.parties[1].stages,
             {.stage = JobStage::training, .units = 2, .units_all = 9, .sent_bytes = uint64_t{1} << 40}, true,
             wall_time_from_unix_ms(77));
  return record;
}

TEST(JobSurvey, CarriesAJobWithAllThatIsKnownOfIt) {
  const JobRecord record = typical(7);
  const JobRecord* const list[] = {&record};
  const Bytes bytes = write_survey(list);
  ASSERT_OK(read_answer_header(header_of(bytes)));
  const Result<JobSurvey> survey = read(bytes);
  ASSERT_OK(survey);
  ASSERT_EQ(survey->jobs.size(), 1u);
  EXPECT_EQ(survey->jobs[0], surveyed(record));
  EXPECT_FALSE(survey->has_more);
  EXPECT_EQ(survey->jobs[0].stages[1][1]->last.sent_bytes, uint64_t{1} << 40);
  EXPECT_TRUE(survey->jobs[0].view.parties[0].is_approved);
}

TEST(JobSurvey, CarriesAJobOfMoreThanTwoParties) {
  JobRecord record = typical(7);
  record.parties.push_back({.name = "third", .is_done = true});
  record.submitted_by = 2;
  hear_stage(record.parties[2].stages, {.stage = JobStage::matching, .sent_bytes = 3}, true, wall_time_from_unix_ms(9));
  const JobRecord* const list[] = {&record};
  const Result<JobSurvey> survey = read(write_survey(list));
  ASSERT_OK(survey);
  ASSERT_EQ(survey->jobs.size(), 1u);
  EXPECT_EQ(survey->jobs[0], surveyed(record));
  EXPECT_EQ(survey->jobs[0].stages[2][0]->last.sent_bytes, 3u);
  record.submitted_by = 3;
  EXPECT_FALSE(read(write_survey(list)));
}

TEST(JobSurvey, HasAsManyJobsAsAnAnswerHolds) {
  std::vector<JobRecord> records;
  for (int i = 0; i < 200; ++i) records.push_back(typical(static_cast<uint8_t>(i)));
  std::vector<const JobRecord*> list;
  for (const JobRecord& record : records) list.push_back(&record);
  size_t heard = 0;
  for (;;) {
    const Bytes bytes = write_survey(std::span(list).subspan(heard));
    EXPECT_LE(payload_of(bytes).size(), kSurveyBytesMax);
    const Result<JobSurvey> survey = read(bytes);
    ASSERT_OK(survey);
    for (const SurveyedJob& job : survey->jobs) EXPECT_EQ(job.view.job, records[heard++].job);
    if (!survey->has_more) break;
    ASSERT_FALSE(survey->jobs.empty());
  }
  EXPECT_EQ(heard, records.size());
  ASSERT_OK(read(write_survey({}))) << "no job is a survey, too";
}

TEST(JobSurvey, IsRefusedWithAnyByteLess) {
  const JobRecord record = typical(7);
  const JobRecord* const list[] = {&record};
  const Bytes bytes = write_survey(list);
  for (size_t size = 0; size < payload_of(bytes).size(); ++size) {
    EXPECT_ERROR(read_survey(header_of(bytes), payload_of(bytes).first(size)), ErrorCode::malformed, "");
  }
}

// A coordinator is a stranger, too: what it says ends up on an operator's page.
TEST(JobSurvey, RefusesWhatNoCoordinatorSays) {
  const auto refuses = [](auto change) {
    JobRecord record = typical(7);
    change(record);
    const JobRecord* const list[] = {&record};
    EXPECT_ERROR(read(write_survey(list)), ErrorCode::malformed, "coordinator");
  };
  refuses([](JobRecord& record) { record.parties[0].name = "\x1b[2J"; });
  refuses([](JobRecord& record) { record.parties[0].name = record.parties[1].name; });
  refuses([](JobRecord& record) { record.kind = "<script>"; });
  refuses([](JobRecord& record) { record.reason = "two words"; });
  refuses([](JobRecord& record) { record.leakage = {"L99"}; });
  refuses([](JobRecord& record) { record.leakage = {"L1", "L1", "L1", "L1", "L1"}; });
  refuses([](JobRecord& record) { record.parties[1].stages[1]->last.units = 10; });
  refuses([](JobRecord& record) { record.parties[1].stages[1]->last.stage = JobStage::matching; });
  refuses([](JobRecord& record) { record.parties[1].stages[1]->heard = wall_time_from_unix_ms(1); });
  refuses([](JobRecord& record) { record.changed = wall_time_from_unix_ms(int64_t{1} << 54); });
  const JobRecord one = typical(7), before = typical(6);
  const JobRecord* const unordered[] = {&one, &before};
  EXPECT_ERROR(read(write_survey(unordered)), ErrorCode::malformed, "survey");
}

TEST(JobSurvey, IsNoAnswerToAnotherQuestion) {
  const JobRecord record = typical(7);
  const JobRecord* const list[] = {&record};
  const Bytes survey = write_survey(list), answer = write_answer(view_of(record));
  EXPECT_ERROR(read_answer(header_of(survey), payload_of(survey)), ErrorCode::malformed, "another question");
  EXPECT_ERROR(read(answer), ErrorCode::malformed, "another question");
  EXPECT_ERROR(read(write_refusal(Refusal::not_an_operator)), ErrorCode::permission_denied, "operators");
}

}  // namespace
}  // namespace coterie::vertical
