// A split network's training as both parties run it: what passes, what it ends with, and what ends it.
#include <algorithm>
#include <cmath>

#include "tests/unit/vertical_split/split_pair.h"
#include "vertical/split/predict_split.h"

namespace coterie::vertical {
namespace {

using coterie::test::fails_with;
using test::small_job;
using test::SplitJob;
using test::SplitPair;

constexpr SplitNetwork kAllNetworks[] = {SplitNetwork::mlp, SplitNetwork::wide_deep, SplitNetwork::deepfm,
                                         SplitNetwork::two_tower};

TEST(SplitParties, LearnWhatNeitherKnowsAlone) {
  for (const SplitNetwork network : kAllNetworks) {
    SCOPED_TRACE(split_network_name(network));
    SplitJob job = small_job(network);
    job.settings.epochs = 40;
    job.settings.rate = 0.03;
    SplitPair pair(job);
    ASSERT_OK(pair.run());
    ASSERT_TRUE(pair.party(0).done() && pair.party(1).done());
    const std::vector<double> losses = pair.party(0).losses();
    ASSERT_EQ(losses.size(), 40u);
    EXPECT_GT(losses[0], 0.55);
    EXPECT_LT(losses[39], 0.35);
    EXPECT_TRUE(pair.party(1).losses().empty());
  }
}

// Every message is of a kind that is listed, and of the size that the formula says.
TEST(SplitParties, SayNothingButTensorsOfTheSettingsSizes) {
  for (const CutEncoding encoding : {CutEncoding::float32, CutEncoding::int8, CutEncoding::bit1}) {
    for (const SplitNetwork network : kAllNetworks) {
      SplitJob job = small_job(network);
      job.settings.activations = encoding;
      job.settings.gradients = encoding == CutEncoding::bit1 ? CutEncoding::int8 : encoding;
      SplitPair pair(job);
      ASSERT_OK(pair.run());
      const size_t width = cut_width(job.settings);
      ASSERT_EQ(pair.said().size(), 2u * 2 * 8);
      for (size_t i = 0; i < pair.said().size(); ++i) {
        const Message& message = pair.said()[i];
        const bool is_forward = i % 2 == 0;
        EXPECT_EQ(message.peer, is_forward ? PartyIndex{1} : PartyIndex{0});
        EXPECT_EQ(message.kind,
                  static_cast<uint16_t>(is_forward ? SplitMessage::activations : SplitMessage::gradients));
        const size_t rows = i / 2 % 8 == 7 ? 4 : 8;  // 60 rows in batches of 8
        EXPECT_EQ(message.payload.size(),
                  cut_message_bytes(rows, width, is_forward ? encoding : job.settings.gradients));
      }
    }
  }
}

TEST(SplitParties, TheSameSeedsGiveTheSameBitsWithSeveralInFlight) {
  for (const uint32_t in_flight : {1u, 4u, 8u}) {
    SplitJob job = small_job(SplitNetwork::mlp);
    job.settings.in_flight = in_flight;
    job.settings.commit_steps = 64;
    SplitPair one(job), two(job);
    ASSERT_OK(one.run());
    ASSERT_OK(two.run());
    EXPECT_EQ(one.party(0).network(), two.party(0).network());
    EXPECT_EQ(one.party(1).network(), two.party(1).network());
    // What the feature party says before it hears anything.
    size_t first = 0;
    while (one.said()[first].peer == PartyIndex{1}) ++first;
    EXPECT_EQ(first, in_flight);
  }
}

TEST(SplitParties, GoOnFromACheckpointToTheSameBits) {
  for (const bool is_protected : {false, true}) {
    SplitJob job = small_job(SplitNetwork::wide_deep);
    job.settings.in_flight = 3;
    job.settings.activations = CutEncoding::int8;
    if (is_protected) {
      job.settings.protection = GradientProtection::max_norm;
      job.settings.activation_clip = 1;
      job.settings.activation_noise = 0.5;
    }
    SplitPair whole(job);
    ASSERT_OK(whole.run());
    ASSERT_EQ(whole.checkpoints(0).size(), 3u);  // 16 steps, one each 4, none at the end
    ASSERT_EQ(whole.checkpoints(1).size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const SplitCheckpoint &label = whole.checkpoints(0)[i], &feature = whole.checkpoints(1)[i];
      EXPECT_EQ(label.steps, 4 * (i + 1));
      EXPECT_EQ(label.said, feature.said);
      // As a journal has them.
      SplitPair rest(job, {*read_split_checkpoint(write_split_checkpoint(label)),
                           *read_split_checkpoint(write_split_checkpoint(feature))});
      ASSERT_OK(rest.run());
      EXPECT_EQ(rest.party(0).network(), whole.party(0).network());
      EXPECT_EQ(rest.party(1).network(), whole.party(1).network());
      EXPECT_EQ(rest.party(0).losses(), whole.party(0).losses());
      EXPECT_TRUE(std::ranges::equal(rest.said(), std::span(whole.said()).subspan(8 * (i + 1)),
                                     [](const Message& a, const Message& b) { return a.payload == b.payload; }));
    }
  }
}

TEST(SplitParties, EndAtAMessageThatIsNoneOfTheProtocol) {
  const SplitJob job = small_job(SplitNetwork::mlp);
  SplitPair sample(job);
  ASSERT_OK(sample.run(1));
  const Message good = sample.said()[0];
  const auto refuses = [&](const Message& message, std::string_view words) {
    SplitPair pair(job);
    return fails_with(pair.party(0).receive(message), ErrorCode::malformed, words);
  };
  Message bad = good;
  bad.kind = 2;
  EXPECT_TRUE(refuses(bad, "sent gradients, expected activations"));
  bad = good;
  bad.payload.pop_back();
  EXPECT_TRUE(refuses(bad, "expected 100"));
  bad = good;
  bad.payload[0] = 1;
  EXPECT_TRUE(refuses(bad, "of step 1, expected 0"));
  bad = good;
  std::ranges::fill(std::span(bad.payload).subspan(4, 4), uint8_t{0xff});
  EXPECT_TRUE(refuses(bad, "not finite"));
  bad = good;
  bad.peer = 0;
  EXPECT_TRUE(refuses(bad, "of party 1"));
  // A feature party that has nothing in flight hears nothing.
  SplitPair over(job);
  ASSERT_OK(over.run());
  Message late = over.said().back();
  EXPECT_TRUE(fails_with(over.party(1).receive(late), ErrorCode::malformed, "nothing was in flight"));
  EXPECT_TRUE(fails_with(over.party(0).receive(good), ErrorCode::malformed, "behind the last step"));
}

TEST(SplitParties, ALabelPartyMayHaveLabelsAlone) {
  SplitJob job = small_job(SplitNetwork::wide_deep);
  job.label_columns.clear();
  SplitInputs none;
  none.rows = static_cast<uint32_t>(job.labels.size());
  none.schema.is_coded = true;
  SplitPair pair(job.settings, {none, job.inputs(1)},
                 {*make_label_network(job.settings, none.schema, 1),
                  *make_feature_network(job.settings, job.columns(1).schema(), 2)},
                 job.labels);
  ASSERT_OK(pair.run());
  EXPECT_TRUE(pair.party(0).done());
  job.settings.network = SplitNetwork::two_tower;
  const auto refused = make_label_network(job.settings, none.schema, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), "template_needs_columns");
}

TEST(SplitParties, ScoreWhomTheyTrainedOn) {
  for (const SplitNetwork network : kAllNetworks) {
    SplitJob job = small_job(network);
    job.settings.epochs = 40;
    job.settings.rate = 0.03;
    SplitPair pair(job);
    ASSERT_OK(pair.run());
    SplitModel models[2];
    for (PartyIndex party = 0; party < 2; ++party) {
      const SplitModel model{
          .settings = job.settings, .columns = job.columns(party), .network = pair.party(party).network()};
      const Result<SplitModel> read = read_split_model(write_split_model(model));
      ASSERT_OK(read);
      EXPECT_EQ(*read, model);
      models[party] = *read;
    }
    const auto label = start_label_split_scoring(models[0], job.label_columns, 60);
    const auto feature = start_feature_split_scoring(models[1], job.feature_columns, 60, test::split_secret(3));
    ASSERT_OK(label);
    ASSERT_OK(feature);
    while (auto message = (*feature)->next()) {
      message->peer = PartyIndex{1};
      ASSERT_OK((*label)->receive(*message));
    }
    ASSERT_TRUE((*label)->done() && (*feature)->done());
    const std::vector<float>& scores = (*label)->scores();
    std::vector<uint8_t> labels;
    for (const float one : job.labels) labels.push_back(one == 1 ? 1 : 0);
    EXPECT_GT(test::auc_of({scores.begin(), scores.end()}, labels), 0.9) << split_network_name(network);
  }
}

TEST(SplitSettingsCheck, NamesWhatDoesNotGoTogether) {
  const auto reason = [](const SplitSettings& settings) {
    const Status status = check_split_settings(settings);
    return status ? std::string() : std::string(status.error().reason());
  };
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({.protection = GradientProtection::marvell, .label_epsilon = 1}), "not_together");
  EXPECT_EQ(reason({.gradients = CutEncoding::bit1}), "not_together");
  EXPECT_EQ(reason({.activation_clip = 1}), "not_together");
  EXPECT_EQ(reason({.batch = 16384, .in_flight = 1}), "not_together");
  EXPECT_EQ(reason({.cut = 128, .batch = 256, .in_flight = 4}), "not_together");
  EXPECT_TRUE(fails_with(check_split_settings({.in_flight = 9}), ErrorCode::invalid_argument, "in_flight is 9"));
  SplitSettings settings{.network = SplitNetwork::deepfm, .rate = 0.5, .in_flight = 3, .label_epsilon = 2};
  WireWriter writer;
  write_split_settings(settings, writer);
  const Bytes bytes = writer.take();
  ASSERT_EQ(bytes.size(), kSplitSettingsBytes);
  WireReader reader(bytes);
  const Result<SplitSettings> read = read_split_settings(reader);
  ASSERT_OK(read);
  EXPECT_EQ(*read, settings);
}

}  // namespace
}  // namespace coterie::vertical
