// A device that sends its largest values and keeps the rest for its next update: what leaves it, and what becomes of
// the rest when an update is counted or lost.
#include <gtest/gtest.h>

#include "device_sdk/agent/largest_values.h"
#include "proto/codec/update/update_decoder.h"
#include "tests/unit/device_sdk/agent/agent_fixture.h"

namespace coterie::test {
namespace {

class AgentResidual : public AgentTest {
 protected:
  void SetUp() override {
    UpdateRules& rules = server_.plan.update;
    rules.encoding = UpdateEncoding::top_k;
    rules.top_k = {.sent_count = rules.value_count / 10, .bits = kTopKFloatBits, .has_error_feedback = true};
    server_.begin_round(models_[0]);
    ASSERT_OK(open());
  }

  // What this device must send in the server's present round, and moves `residual` as if it counted.
  std::vector<float> expected(const Bytes& model_file, std::vector<float>& residual) {
    std::vector<float> values = expected_delta(model_file);
    for (size_t i = 0; i < residual.size(); ++i) values[i] += residual[i];
    residual = values;
    take_largest(server_.plan.update.top_k, values);
    for (size_t i = 0; i < residual.size(); ++i) residual[i] -= values[i];
    return values;
  }
  std::vector<std::string> state_files() const {
    std::vector<std::string> names = files();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("state-"); });
    return names;
  }
  const std::vector<float>& sent() const { return server_.uploads().back().values; }

  const std::vector<Bytes> models_ = {mlp(1), mlp(2), mlp(3), mlp(4)};
};

TEST_F(AgentResidual, SendsInARoundWhatTheOnesBeforeHadNoRoomFor) {
  for (const uint32_t bits : {kTopKFloatBits, 4u}) {
    server_.plan.update.top_k.bits = bits;
    server_.plan.job = JobId("job-" + std::to_string(bits));
    std::vector<float> residual;
    for (size_t round = 0; round < models_.size(); ++round) {
      server_.begin_round(models_[round]);
      step_until(Activity::uploaded);
      std::vector<float> none;
      if (round > 0) EXPECT_NE(sent(), expected(models_[round], none));
      EXPECT_EQ(sent(), expected(models_[round], residual)) << "round " << round << ", bits " << bits;
      const ScriptedServer::Upload& upload = server_.uploads().back();
      const Result<Decoded<UpdateHeader>> frame = decode_update(upload.bytes);
      ASSERT_OK(frame);
      EXPECT_EQ(frame->payload.size(), update_decoder(UpdateEncoding::top_k).payload_bytes_max(server_.plan.update))
          << "as many bytes as a plan says";
    }
  }
}

TEST_F(AgentResidual, OfALostUpdateIsNotKept) {
  std::vector<float> residual;
  step_until(Activity::uploaded);
  EXPECT_EQ(sent(), expected(models_[0], residual));
  server_.begin_round(models_[1]);
  server_.fail_next(Call::upload, ScriptedServer::typed(ErrorCode::round_closed));
  ASSERT_TRUE(step_until(Activity::uploaded).error);
  EXPECT_EQ(state_files().size(), 2u) << "what was staged is gone, with its key";
  server_.begin_round(models_[2]);
  step_until(Activity::uploaded);
  EXPECT_EQ(sent(), expected(models_[2], residual)) << "as if the second round had not been";
}

TEST_F(AgentResidual, IsTheSameThroughADeathBeforeEveryStep) {
  std::vector<float> residual;
  for (size_t round = 0; round < models_.size(); ++round) {
    if (round > 0) server_.begin_round(models_[round]);
    for (int lives = 0; server_.uploads().size() <= round && lives < 200; ++lives) {
      ASSERT_OK(open());
      step();
    }
    ASSERT_EQ(server_.uploads().size(), round + 1);
    EXPECT_EQ(sent(), expected(models_[round], residual)) << "to the bit";
  }
}

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
