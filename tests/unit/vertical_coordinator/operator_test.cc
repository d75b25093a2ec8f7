// What an operator may do at a coordinator, and what a party says of its progress there.
#include <gmock/gmock.h>

#include "tests/unit/vertical_coordinator/machine_fixture.h"
#include "vertical/coordinator/job_survey.h"

namespace coterie::vertical::test {
namespace {

using testing::ElementsAre;

class CoordinatorOperator : public CoordinatorMachineTest {
 protected:
  Result<JobSurvey> survey(const Somebody& who, SurveyOf of = SurveyOf::all_from_first, VerticalJobId id = {}) {
    machine_.opened(++connection_, now_);
    effects_ =
        machine_.asked(connection_, who.identity, Request{.kind = RequestKind::survey, .job = id, .survey = of}, now_);
    machine_.check();
    EXPECT_EQ(effects_.answers.size(), 1u);
    const Bytes& bytes = effects_.answers[0].bytes;
    const std::span<const uint8_t, kCoordinatorHeaderBytes> header(bytes.data(), kCoordinatorHeaderBytes);
    return read_survey(header, ByteView(bytes).subspan(kCoordinatorHeaderBytes));
  }
  static std::string ids(const Result<JobSurvey>& survey) {
    std::string text;
    if (survey) {
      for (const SurveyedJob& job : survey->jobs) text += static_cast<char>(job.view.job[0]);
    }
    return text;
  }
  static Request progress(uint32_t units, bool is_over = false) {
    Request request = about(RequestKind::progress);
    request.progress = {.stage = JobStage::training, .is_over = is_over, .units = units, .units_all = 4};
    return request;
  }
};

TEST_F(CoordinatorOperator, SeesAllJobsAndEachOne) {
  for (const char id : {'B', 'A'}) EXPECT_EQ(refusal(label_, submit(id)), "accepted");
  EXPECT_EQ(ids(survey(operator_)), "AB");
  EXPECT_EQ(ids(survey(operator_, SurveyOf::all_behind, {'A'})), "B");
  EXPECT_EQ(ids(survey(operator_, SurveyOf::all_behind, {'B'})), "");
  const Result<JobSurvey> one = survey(operator_, SurveyOf::one, {'B'});
  ASSERT_EQ(ids(one), "B");
  EXPECT_EQ(one->jobs[0].kind, "vertical_trees");
  EXPECT_THAT(one->jobs[0].leakage, ElementsAre("L1", "L3", "L4"));
  EXPECT_ERROR(survey(operator_, SurveyOf::one, {'C'}), ErrorCode::not_found, "");
}

TEST_F(CoordinatorOperator, IsWhoTheConfigurationNames) {
  EXPECT_EQ(refusal(label_, submit()), "accepted");
  for (const Somebody* who : {&label_, &feature_, &stranger_}) {
    EXPECT_ERROR(survey(*who), ErrorCode::permission_denied, "operators");
    EXPECT_ERROR(survey(*who, SurveyOf::one, {'J'}), ErrorCode::permission_denied, "operators");
  }
  for (const RequestKind kind : {RequestKind::pause, RequestKind::resume, RequestKind::cancel, RequestKind::status}) {
    EXPECT_EQ(refusal(stranger_, about(kind)), "not_a_party");
  }
}

TEST_F(CoordinatorOperator, IsNoPartyOfAnyJob) {
  EXPECT_EQ(refusal(operator_, submit()), "not_a_party");
  EXPECT_EQ(refusal(label_, submit()), "accepted");
  EXPECT_EQ(refusal(operator_, approval(operator_)), "not_a_party") << "its signature is nobody's";
  EXPECT_EQ(refusal(operator_, approval(label_)), "not_a_party") << "nor does it bring a party's";
  EXPECT_FALSE(job().parties[0].approval || job().parties[1].approval);
  EXPECT_EQ(refusal(label_, approval(label_)), "accepted");
  EXPECT_EQ(refusal(feature_, approval(feature_)), "accepted");
  for (const RequestKind kind : {RequestKind::join, RequestKind::report, RequestKind::deal, RequestKind::progress}) {
    EXPECT_EQ(refusal(operator_, about(kind)), "not_a_party");
  }
}

TEST_F(CoordinatorOperator, HoldsAJobUntilItLetsItGo) {
  EXPECT_EQ(refusal(label_, submit()), "accepted");
  EXPECT_EQ(refusal(operator_, about(RequestKind::pause)), "not_approved");
  approve_all();
  run();
  EXPECT_EQ(refusal(operator_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(job().reason, "operator_paused");
  EXPECT_EQ(effects_.closes.size(), 2u) << "the run is over for now";
  EXPECT_EQ(refusal(label_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::paused) << "a party takes back its own pause alone";
  // A party that pauses it, too, has to take that back itself.
  EXPECT_EQ(refusal(feature_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(refusal(operator_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(job().reason, "feature_party_paused");
  EXPECT_EQ(refusal(feature_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::approved);
  run();
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(CoordinatorOperator, EndsAJobForGood) {
  approve_all();
  run();
  EXPECT_EQ(refusal(operator_, about(RequestKind::cancel)), "accepted");
  EXPECT_EQ(job().state, JobState::cancelled);
  EXPECT_EQ(job().reason, "operator_cancelled");
  for (const RequestKind kind : {RequestKind::pause, RequestKind::resume, RequestKind::cancel}) {
    EXPECT_EQ(refusal(operator_, about(kind)), "job_over");
  }
  EXPECT_EQ(refusal(operator_, about(RequestKind::cancel, 'X')), "unknown_job");
}

TEST_F(CoordinatorOperator, SeesWhatPartiesSayOfTheirStages) {
  approve_all();
  EXPECT_EQ(refusal(label_, progress(0)), "not_running");
  run();
  EXPECT_EQ(refusal(label_, progress(0)), "accepted");
  EXPECT_EQ(effects_.store.size(), 1u) << "a stage that begins is durable";
  now_.wall += Millis(3'000);
  EXPECT_EQ(refusal(label_, progress(3)), "accepted");
  EXPECT_TRUE(effects_.store.empty()) << "what comes in between is said again";
  const Result<JobSurvey> seen = survey(operator_);
  ASSERT_OK(seen);
  ASSERT_TRUE(seen->jobs[0].stages[0][1]);
  EXPECT_FALSE(seen->jobs[0].stages[1][1]) << "the feature party has said nothing";
  EXPECT_EQ(time_left(*seen->jobs[0].stages[0][1]), Millis(1'000));
  // A run that is lost goes on, and its pause is not the stage's time.
  EXPECT_EQ(refusal(operator_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(refusal(label_, progress(3)), "not_running");
  EXPECT_EQ(refusal(operator_, about(RequestKind::resume)), "accepted");
  now_.wall += Millis(100'000);
  run();
  EXPECT_EQ(refusal(label_, progress(2)), "accepted");
  EXPECT_EQ(time_left(*job().parties[0].stages[1]), std::nullopt);
  now_.wall += Millis(1'000);
  EXPECT_EQ(refusal(label_, progress(3)), "accepted");
  EXPECT_EQ(time_left(*job().parties[0].stages[1]), Millis(1'000));
  EXPECT_EQ(refusal(label_, progress(4, true)), "accepted");
  EXPECT_EQ(effects_.store.size(), 1u) << "a stage's end is durable";
}

}  // namespace
}  // namespace coterie::vertical::test
