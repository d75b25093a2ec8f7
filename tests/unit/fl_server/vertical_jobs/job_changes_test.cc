// What has happened to a coordinator's jobs between two looks.
#include "fl_server/vertical_jobs/job_changes.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using vertical::JobStage;
using vertical::SurveyedJob;
using State = vertical::JobState;
using testing::ElementsAre;
using testing::IsEmpty;

SurveyedJob job(char id, State state, const std::string& reason = {}) {
  SurveyedJob made;
  made.view.job[0] = static_cast<uint8_t>(id);
  made.view.state = state;
  made.view.reason = reason;
  return made;
}

// "id state reason" of each.
std::vector<std::string> changed(const VerticalJobChanges::Changes& changes) {
  std::vector<std::string> texts;
  for (const auto& [id, told] : changes.changed) {
    texts.push_back(id.value().substr(0, 2) + " " + told.state + " " + told.reason);
  }
  return texts;
}

TEST(VerticalJobChanges, AreThoseBehindTheFirstLook) {
  VerticalJobChanges changes;
  const VerticalJobChanges::Changes first = changes.look({job('A', State::running), job('B', State::done)});
  EXPECT_THAT(first.changed, IsEmpty()) << "what was there has not happened now";
  EXPECT_THAT(first.known, ElementsAre(name_of({'A'}), name_of({'B'})));
  EXPECT_THAT(changed(changes.look({job('A', State::running), job('B', State::done)})), IsEmpty());
  const VerticalJobChanges::Changes later =
      changes.look({job('A', State::paused, "party_lost"), job('C', State::created)});
  EXPECT_THAT(changed(later), ElementsAre("41 paused party_lost", "43 created "));
  EXPECT_THAT(later.gone, ElementsAre(name_of({'B'})));
  EXPECT_THAT(later.known, IsEmpty());
}

TEST(VerticalJobChanges, AreOfApprovalsAndStagesToo) {
  VerticalJobChanges changes;
  SurveyedJob one = job('A', State::created);
  changes.look({one});
  one.view.parties[1].is_approved = true;
  ASSERT_EQ(changes.look({one}).changed.size(), 1u);
  EXPECT_EQ(told_of(one).approvals, 1u);
  vertical::hear_stage(one.stages[0], {.stage = JobStage::matching}, true, {});
  ASSERT_EQ(changes.look({one}).changed.size(), 1u);
  vertical::hear_stage(one.stages[1], {.stage = JobStage::training, .units = 0, .units_all = 9}, true, {});
  EXPECT_EQ(changes.look({one}).changed[0].second.stage, "training");
  vertical::hear_stage(one.stages[1], {.stage = JobStage::training, .units = 5, .units_all = 9}, false, {});
  EXPECT_THAT(changes.look({one}).changed, IsEmpty()) << "units change with every word: they are asked for";
}

}  // namespace
}  // namespace coterie
