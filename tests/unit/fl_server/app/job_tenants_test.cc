// A server learns from its store which tenant each job belongs to.
#include "fl_server/app/job_tenants.h"

#include "fl_server/store/admin_store.h"
#include "fl_server/store/sql_training_store.h"
#include "tests/unit/fl_server/app/parts_world.h"

namespace coterie {
namespace {

using JobTenants = test::PartsWorld;

TEST_F(JobTenants, AreToldOfEachJobAsTheStoreHasThem) {
  open();
  for (const char* name : {"claimed", "unclaimed"}) {
    JobRecord job;
    job.id = JobId(name);
    ModelRecord initial;
    initial.job = job.id;
    ASSERT_OK(stores_->training().create_job(job, initial));
  }
  ASSERT_OK(stores_->admin().claim_for_tenant(Owned::job, "claimed", "acme"));
  ASSERT_OK(stores_->admin().claim_for_tenant(Owned::job, "never made", "acme"));
  EventHub& events = observers_->events;
  ASSERT_OK(tell_job_tenants(stores_->training(), stores_->admin(), events));
  events.add(JobId("claimed"), event::JobCompleted{1});
  events.add(JobId("unclaimed"), event::JobCompleted{2});
  events.add(JobId("made later"), event::JobCompleted{3});
  const auto tenant_of = [&](const char* job) {
    const EventPage page = events.after({events.epoch(), 0}, JobId(job), 1);
    return page.events.empty() ? "no event" : page.events[0]->tenant;
  };
  EXPECT_EQ(tenant_of("claimed"), "acme");
  EXPECT_EQ(tenant_of("unclaimed"), "default");
  EXPECT_EQ(tenant_of("made later"), "");
}

}  // namespace
}  // namespace coterie
