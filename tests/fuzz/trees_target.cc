// Both parties of a training of trees and of a prediction with what came of it, and somebody between them who changes
// messages. Whatever comes is an error or is taken; honest parties end with parts of one model. Then the training goes
// on once more from the checkpoints of its first level, which somebody may have changed.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/assert.h"
#include "secure/crypto/digest.h"
#include "tests/fuzz/event_bytes.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "vertical/trees/predict_trees.h"
#include "vertical/trees/train_trees.h"

namespace {

using namespace coterie;
using namespace coterie::vertical;
using coterie::test::EventBytes;

constexpr int kTreeTurnsMax = 200;
constexpr uint32_t kTreeRows = 8;

RawColumns columns_from(uint32_t first) {
  RawColumns columns(2);
  for (uint32_t c = 0; c < 2; ++c) {
    for (uint32_t row = 0; row < kTreeRows; ++row) columns[c].push_back(static_cast<float>((row * (first + c)) % 7));
  }
  return columns;
}

void change_message(Message& message, EventBytes& bytes) {
  switch (bytes.below(16)) {
    case 0: message.kind = static_cast<uint16_t>(98 + bytes.below(16)); break;
    case 1: message.payload.resize(bytes.next()); break;
    case 2: message.payload.push_back(bytes.next()); break;
    case 3:
      if (!message.payload.empty())
        message.payload[bytes.below(std::min<size_t>(256, message.payload.size()))] = bytes.next();
      break;
    default: break;
  }
}

// Whether both came to their end; `is_honest` becomes false where a message was changed.
bool run_parties(const std::array<Stage*, 2>& party, EventBytes& bytes, bool& is_honest) {
  for (int turn = 0, quiet = 0; turn < kTreeTurnsMax && quiet < 2; ++turn) {
    const int from = turn % 2;
    ++quiet;
    while (std::optional<Message> message = party[from]->next()) {
      quiet = 0;
      message->peer = static_cast<PartyIndex>(from);
      const Message before = *message;
      change_message(*message, bytes);
      if (message->kind != before.kind || message->payload != before.payload) is_honest = false;
      const Status status = party[1 - from]->receive(*message);
      COT_ASSERT(status.has_value() || !is_honest);
      if (!status) return false;  // an error ends the job
    }
  }
  COT_ASSERT((party[0]->done() && party[1]->done()) || !is_honest);
  return party[0]->done() && party[1]->done();
}

// A training, and the checkpoint of its first level.
template <typename Training, typename Checkpoint>
class Checkpointed final : public Stage {
 public:
  explicit Checkpointed(Training& training) : training_(training) {}
  std::optional<Message> next() override { return training_.next(); }
  Status receive(const Message& message) override {
    const Status status = training_.receive(message);
    if (!first) {
      for (const GrownTree& tree : training_.take_grown()) grown.push_back(write_grown_tree(tree));
    }
    if (std::optional<Checkpoint> checkpoint = training_.take_checkpoint(); checkpoint && !first) first = checkpoint;
    return status;
  }
  bool done() const override { return training_.done(); }

  std::optional<Checkpoint> first;
  std::vector<Bytes> grown;  // before it

 private:
  Training& training_;
};

// A checkpoint as a disk gives it back: its model, which is that of the unfinished tree and has a place behind the
// levels, with the digest of what that is now, which is no seal.
template <typename Checkpoint>
Bytes changed(const Checkpoint& checkpoint, EventBytes& bytes) {
  Bytes file = write_tree_checkpoint(checkpoint);
  if (!bytes.one_in(4)) return file;
  constexpr size_t kDigest = sizeof(Digest::bytes);
  auto unfinished = checkpoint.model;
  unfinished.trees.clear();
  if (!checkpoint.levels.empty()) unfinished.trees = {checkpoint.model.trees.back()};
  const size_t model = file.size() - write_tree_model(unfinished).size();
  file[bytes.below(std::min<size_t>(256, file.size() - kDigest))] = bytes.next();
  const Digest again = content_digest(ByteView(file).subspan(model, file.size() - model - kDigest));
  std::ranges::copy(again.bytes, file.end() - static_cast<ptrdiff_t>(kDigest));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  EventBytes bytes(data, size);
  TreeSettings settings;
  settings.rounds = 2;
  settings.depth = 1 + bytes.below(3);
  settings.label_party_first = bytes.one_in(4);
  if (bytes.one_in(3)) settings.goss = Goss{.top_rate = 0.25, .other_rate = 0.25};
  settings.min_child_weight = 0;
  const std::vector<float> labels = {0, 1, 1, 0, 1, 0, 0, 1};
  LabelTreeCheckpoint label_from;
  FeatureTreeCheckpoint feature_from;
  bool is_honest = true;
  for (const bool goes_on : {false, true}) {
    auto label_started = LabelTraining::start(*bin_columns(columns_from(1), 4), labels, settings, {1},
                                              std::make_unique<vertical::test::PlainKey>(), label_from);
    auto feature_started = FeatureTraining::start(*bin_columns(columns_from(3), 4), settings, Secret<32>(),
                                                  vertical::test::plain_cipher, feature_from);
    if (!label_started || !feature_started) {
      COT_ASSERT(!is_honest);
      return 0;
    }
    const auto& label = *label_started;
    const auto& feature = *feature_started;
    Checkpointed<LabelTraining, LabelTreeCheckpoint> one(*label);
    Checkpointed<FeatureTraining, FeatureTreeCheckpoint> other(*feature);
    if (!run_parties({&one, &other}, bytes, is_honest)) return 0;
    COT_ASSERT(label->model().shape == feature->model().shape || !is_honest);
    const auto asks = LabelPrediction::start(columns_from(1), label->model(), kTreeRows, {1});
    const auto says = FeaturePrediction::start(columns_from(3), feature->model(), kTreeRows);
    COT_ASSERT(says && (asks || !is_honest));
    if (asks && run_parties({asks->get(), says->get()}, bytes, is_honest)) {
      COT_ASSERT((*asks)->scores().size() == kTreeRows);
    }
    if (goes_on || !one.first || !other.first) return 0;
    for (Bytes& tree : one.grown) {
      if (bytes.one_in(8)) tree[bytes.below(static_cast<uint32_t>(tree.size()))] = bytes.next();
    }
    auto label_kept = read_label_tree_checkpoint(changed(*one.first, bytes), one.grown, kTreeRows);
    auto feature_kept = read_feature_tree_checkpoint(changed(*other.first, bytes), other.grown);
    if (!label_kept || !feature_kept) return 0;
    label_from = std::move(*label_kept);
    feature_from = std::move(*feature_kept);
    is_honest = is_honest && label_from == *one.first && feature_from == *other.first;
  }
  return 0;
}
