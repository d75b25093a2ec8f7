// Which events a reader is told: of one job, of one tenant's jobs, or all.
#include "fl_server/events/event_filter.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

Event event_of(const std::string& job, const std::string& tenant) {
  return {.seq = 1, .time = {}, .job = JobId(job), .what = event::JobFailed{"r"}, .tenant = tenant};
}

TEST(EventFilter, ShowsAJobItsOwn) {
  EXPECT_TRUE(shows(JobId("j1"), event_of("j1", "acme")));
  EXPECT_TRUE(shows(JobId("j1"), event_of("j1", "")));
  EXPECT_FALSE(shows(JobId("j1"), event_of("j2", "acme")));
}

TEST(EventFilter, ShowsATenantWhatIsKnownToBeItsOwn) {
  EXPECT_TRUE(shows(OfTenant{"acme"}, event_of("j1", "acme")));
  EXPECT_FALSE(shows(OfTenant{"acme"}, event_of("j1", "other")));
  EXPECT_FALSE(shows(OfTenant{"acme"}, event_of("j1", ""))) << "nobody has said whose the job is";
  EXPECT_FALSE(shows(OfTenant{"acme"}, event_of("", ""))) << "of the server";
  EXPECT_FALSE(shows(OfTenant{""}, event_of("j1", ""))) << "no name is not the name of what has none";
}

TEST(EventFilter, ShowsWhoSeesEveryTenantEverything) {
  for (const char* tenant : {"acme", "other", ""}) EXPECT_TRUE(shows(OfTenant{"*"}, event_of("j1", tenant)));
  EXPECT_TRUE(shows(OfTenant{"*"}, event_of("", "")));
}

}  // namespace
}  // namespace coterie
