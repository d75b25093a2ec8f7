// A device that sends its largest values and keeps the rest for its next update: what leaves it, and what becomes of
// the rest when an update is counted or lost.
#include <gtest/gtest.h>

#include "device_sdk/agent/largest_values.h"
#include "proto/codec/update/update_decoder.h"
#include "tests/unit/device_sdk/agent/kept_state_fixture.h"

namespace coterie::test {
namespace {

class AgentResidual : public KeptStateTest {
 protected:
  void SetUp() override {
    UpdateRules& rules = server_.plan.update;
    rules.encoding = UpdateEncoding::top_k;
    rules.top_k = {.sent_count = rules.value_count / 10, .bits = kTopKFloatBits, .has_error_feedback = true};
    server_.begin_round(models_[0]);
    ASSERT_OK(open());
  }

  // `residual`: what the updates before had no room for.
  std::vector<float> expected(const Bytes& model_file, std::vector<float>& residual) override {
    std::vector<float> values = expected_delta(model_file);
    for (size_t i = 0; i < residual.size(); ++i) values[i] += residual[i];
    residual = values;
    take_largest(server_.plan.update.top_k, values);
    for (size_t i = 0; i < residual.size(); ++i) residual[i] -= values[i];
    return values;
  }
};

TEST_F(AgentResidual, SendsInARoundWhatTheOnesBeforeHadNoRoomFor) {
  for (const uint32_t bits : {kTopKFloatBits, 4u}) {
    server_.plan.update.top_k.bits = bits;
    server_.plan.job = JobId("job-" + std::to_string(bits));
    expect_to_go_on_from_round_to_round([this] {
      const ScriptedServer::Upload& upload = server_.uploads().back();
      const Result<Decoded<UpdateHeader>> frame = decode_update(upload.bytes);
      ASSERT_OK(frame);
      EXPECT_EQ(frame->payload.size(), update_decoder(UpdateEncoding::top_k).payload_bytes_max(server_.plan.update))
          << "as many bytes as a plan says";
    });
  }
}

TEST_F(AgentResidual, OfALostUpdateIsNotKept) { expect_nothing_of_a_lost_update(); }

TEST_F(AgentResidual, IsTheSameThroughADeathBeforeEveryStep) { expect_the_same_through_a_death_before_every_step(); }

TEST_F(AgentResidual, IsNoneWithoutErrorFeedback) {
  server_.plan.update.top_k.has_error_feedback = false;
  for (const Bytes& model : models_) {
    server_.begin_round(model);
    step_until(Activity::uploaded);
    std::vector<float> none;
    EXPECT_EQ(sent(), expected(model, none));
  }
  EXPECT_TRUE(state_files().empty());
}

}  // namespace
}  // namespace coterie::test
