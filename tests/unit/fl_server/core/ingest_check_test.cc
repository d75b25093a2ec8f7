// A broken invariant of the ingest machine is named by its sentence, in every build that calls check().
#include <gtest/gtest.h>

#include "tests/unit/fl_server/core/ingest_script.h"

namespace coterie {
namespace {

class IngestCheckDeathTest : public testing::Test {
 protected:
  IngestCheckDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ingest_.publish();
  }
  IngestMachine copy() const { return ingest_.machine(); }

  Ingest ingest_{[] {
    IngestLimits limits;
    limits.bytes_in_flight_max = 150;
    return limits;
  }()};
};

TEST_F(IngestCheckDeathTest, BytesThatNobodyReservedAreNamed) {
  ingest_.offer(1);
  IngestMachine machine = copy();
  machine.check();
  IngestTamperer::lose_count_of_bytes(machine);
  EXPECT_DEATH(machine.check(),
               "ingest_machine_check.cc:[0-9]+: assertion failed: the bytes in flight are those that uploads have");
}

TEST_F(IngestCheckDeathTest, AnUpdateWithoutABatchIsNamed) {
  ingest_.add(1);
  IngestMachine machine = copy();
  machine.check();
  IngestTamperer::forget_a_member(machine);
  EXPECT_DEATH(machine.check(), "a spilled batch is complete");
}

TEST_F(IngestCheckDeathTest, ACommitThatKeepsTheBufferIsNamed) {
  ingest_.add(1);
  ingest_.spilled(1);
  IngestMachine machine = copy();
  machine.check();
  IngestTamperer::give_the_buffer_to_a_commit(machine);
  EXPECT_DEATH(machine.check(), "a committing batch does not have the buffer");
}

TEST_F(IngestCheckDeathTest, AnUploadThatIsGoneFromUnderTheQueueIsNamedWhereItIsLookedUp) {
  ingest_.offer(1);
  ingest_.offer(2);  // queued
  IngestMachine machine = copy();
  IngestTamperer::lose_the_first_upload(machine);
  EXPECT_DEATH(machine.next_deadline(), "ingest_machine.cc:[0-9]+: assertion failed: an upload in the queue is known");
}

TEST_F(IngestCheckDeathTest, AnAnswerThatTheShellMadeUpIsNamed) {
  ingest_.offer(1);
  EXPECT_DEATH(ingest_.added(1), "an update is added once, after AddUpdate asked for it");
}

}  // namespace
}  // namespace coterie
