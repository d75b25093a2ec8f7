// Both parties of a training of trees and of a prediction with what came of it, and somebody between them who changes
// messages. Whatever comes is an error or is taken; honest parties end with parts of one model.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/assert.h"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  EventBytes bytes(data, size);
  TreeSettings settings;
  settings.rounds = 2;
  settings.depth = 1 + bytes.below(3);
  settings.label_party_first = bytes.one_in(4);
  settings.min_child_weight = 0;
  const std::vector<float> labels = {0, 1, 1, 0, 1, 0, 0, 1};
  const auto label = *LabelTraining::start(*bin_columns(columns_from(1), 4), labels, settings, {1},
                                           std::make_unique<vertical::test::PlainKey>());
  const auto feature =
      *FeatureTraining::start(*bin_columns(columns_from(3), 4), settings, Secret<32>(), vertical::test::plain_cipher);
  bool is_honest = true;
  if (!run_parties({label.get(), feature.get()}, bytes, is_honest)) return 0;
  COT_ASSERT(label->model().shape == feature->model().shape || !is_honest);
  const auto asks = LabelPrediction::start(columns_from(1), label->model(), kTreeRows, {1});
  const auto says = FeaturePrediction::start(columns_from(3), feature->model(), kTreeRows);
  COT_ASSERT(says && (asks || !is_honest));
  if (asks && run_parties({asks->get(), says->get()}, bytes, is_honest))
    COT_ASSERT((*asks)->scores().size() == kTreeRows);
  return 0;
}
