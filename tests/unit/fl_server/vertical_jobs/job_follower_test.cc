// A follower of jobs that a test holds: what it adds to the events, and for whom.
#include "fl_server/vertical_jobs/job_follower.h"

#include <gmock/gmock.h>

#include "fl_server/records/tenant.h"

namespace coterie {
namespace {

using vertical::SurveyedJob;
using State = vertical::JobState;

constexpr size_t kAll = 1'000;
const std::string kEpoch = "00000000000000aa";

class HeldJobs final : public VerticalJobs {
 public:
  const std::string& tenant() const override { return tenant_; }
  Result<vertical::JobSurvey> list(std::optional<vertical::VerticalJobId>, size_t) override {
    const std::lock_guard lock(mutex_);
    ++looks_;
    wake_.notify_all();
    if (is_away_) return Error(ErrorCode::unavailable, "nobody listens");
    return vertical::JobSurvey{.jobs = jobs_, .has_more = false};
  }
  Result<SurveyedJob> get(const vertical::VerticalJobId&) override { return Error(ErrorCode::not_found, "none"); }
  Result<SurveyedJob> steer(const vertical::VerticalJobId&, VerticalStep) override {
    return Error(ErrorCode::not_found, "none");
  }

  void put(State state, bool is_away = false) {
    const std::lock_guard lock(mutex_);
    jobs_.resize(1);
    jobs_[0].view.job = {'J'};
    jobs_[0].view.state = state;
    is_away_ = is_away;
  }
  // Until it has been looked so often.
  void wait_for(int looks) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return looks_ >= looks; });
  }

 private:
  const std::string tenant_ = "acme";
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<SurveyedJob> jobs_;
  bool is_away_ = false;
  int looks_ = 0;
};

class FollowedJobs : public testing::Test {
 protected:
  static constexpr Millis kNever{3'600'000};  // but for look_now()

  std::vector<std::string> told(const std::string& tenant) const {
    std::vector<std::string> texts;
    for (const auto& event : hub_.after({kEpoch, 0}, OfTenant{tenant}, kAll).events) {
      texts.push_back(std::get<event::VerticalJobChanged>(event->what).state);
      EXPECT_EQ(event->job, name_of({'J'}));
    }
    return texts;
  }
  // The next look has ended when the one behind it begins.
  void look() {
    follower_->look_now();
    jobs_.wait_for(++looks_);
    follower_->look_now();
    jobs_.wait_for(++looks_);
  }

  HeldJobs jobs_;
  EventHub hub_{kEpoch};
  int looks_ = 1;
  std::unique_ptr<VerticalJobFollower> follower_;
};

TEST_F(FollowedJobs, BecomeEventsOfTheirTenant) {
  jobs_.put(State::approved);
  follower_ = std::make_unique<VerticalJobFollower>(jobs_, hub_, kNever);
  jobs_.wait_for(1);
  look();
  EXPECT_THAT(told("acme"), testing::IsEmpty()) << "it was so before";
  jobs_.put(State::running);
  look();
  jobs_.put(State::failed, true);
  look();
  EXPECT_THAT(told("acme"), testing::ElementsAre("running")) << "a coordinator that is away says nothing";
  jobs_.put(State::failed);
  look();
  EXPECT_THAT(told("acme"), testing::ElementsAre("running", "failed"));
  EXPECT_THAT(told("other"), testing::IsEmpty());
}

}  // namespace
}  // namespace coterie
