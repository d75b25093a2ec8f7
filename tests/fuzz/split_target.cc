// What the parties of a split network read: numbers at the cut, checkpoints, parts of a model; and both parties with
// somebody between them who changes messages. Whatever comes is an error or is taken; honest parties end.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "tests/fuzz/event_bytes.h"
#include "vertical/split/cut_tensor.h"
#include "vertical/split/predict_split.h"
#include "vertical/split/split_network.h"
#include "vertical/split/train_split.h"

namespace {

using namespace coterie;
using namespace coterie::vertical;
using coterie::test::EventBytes;

constexpr uint32_t kPeople = 12;
constexpr size_t kWidth = 3;

void try_tensor(ByteView input, CutEncoding encoding) {
  for (const size_t rows : {1u, 4u}) {
    const Result<std::vector<float>> read = read_cut_tensor(input, rows, kWidth, encoding);
    if (!read) continue;
    COT_ASSERT(read->size() == rows * kWidth);
    COT_ASSERT(std::ranges::all_of(*read, [](float value) { return std::isfinite(value); }));
  }
}

void try_checkpoint(ByteView input) {
  const Result<SplitCheckpoint> read = read_split_checkpoint(input);
  if (read) COT_ASSERT(std::ranges::equal(write_split_checkpoint(*read), input));
}

// What is a part of a network may be asked for scores; of what kind its graph is, is checked then.
void try_model(ByteView input) {
  const Result<SplitModel> read = read_split_model(input);
  if (!read) return;
  COT_ASSERT(std::ranges::equal(write_split_model(*read), input));
  const std::vector<std::vector<float>> columns(read->columns.columns.size(), {0.5f});
  (void)start_label_split_scoring(*read, columns, 1);
}

bool change_word(Message& message, EventBytes& bytes) {
  const Message before = message;
  switch (bytes.below(12)) {
    case 0: message.kind = static_cast<uint16_t>(message.kind + bytes.next()); break;
    case 1: message.payload.resize(bytes.next()); break;
    case 2: message.payload.push_back(bytes.next()); break;
    case 3:
      if (!message.payload.empty()) message.payload[bytes.below(message.payload.size())] = bytes.next();
      break;
    default: break;
  }
  return message.kind != before.kind || message.payload != before.payload;
}

void try_pair(EventBytes& bytes) {
  SplitSettings settings{.hidden = 0, .cut = kWidth, .top = 0, .epochs = 2, .batch = 4, .commit_steps = 2};
  settings.network = static_cast<SplitNetwork>(bytes.below(kSplitNetworks));
  settings.activations = static_cast<CutEncoding>(bytes.below(kCutEncodings));
  settings.protection = static_cast<GradientProtection>(bytes.below(kGradientProtections));
  settings.in_flight = static_cast<uint32_t>(1 + bytes.below(4));
  std::vector<std::vector<float>> columns(1);
  std::vector<float> labels;
  for (uint32_t i = 0; i < kPeople; ++i) {
    columns[0].push_back(static_cast<float>(i % 5));
    labels.push_back(i % 5 > 2 ? 1.0f : 0.0f);
  }
  const SplitColumns fitted = *fit_columns(columns, settings);
  const auto start = [&](bool is_label) {
    SplitRun run{.settings = settings, .order = {}, .seed = {}};
    const Model network = *Model::load(is_label ? *make_label_network(settings, fitted.schema(), 1)
                                                : *make_feature_network(settings, fitted.schema(), 2));
    SplitInputs inputs = *encode_columns(fitted, columns, kPeople);
    return is_label ? start_label_split(std::move(run), network, std::move(inputs), labels)
                    : start_feature_split(std::move(run), network, std::move(inputs));
  };
  std::array<std::unique_ptr<SplitTraining>, 2> party = {std::move(*start(true)), std::move(*start(false))};
  bool is_honest = true;
  for (bool moved = true; moved;) {
    moved = false;
    for (PartyIndex from = 2; from-- > 0;) {
      while (std::optional<Message> message = party[from]->next()) {
        const PartyIndex to = message->peer;
        message->peer = from;
        if (change_word(*message, bytes)) is_honest = false;
        const bool is_taken = party[to]->receive(*message).has_value();
        COT_ASSERT(is_taken || !is_honest);
        if (!is_taken) return;  // an error ends the job
        moved = true;
      }
    }
  }
  COT_ASSERT((party[0]->done() && party[1]->done()) || !is_honest);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView input = ByteView(data, size).subspan(1);
  switch (data[0] % 6) {
    case 0:
    case 1:
    case 2: try_tensor(input, static_cast<CutEncoding>(data[0] % 6)); break;
    case 3: try_checkpoint(input); break;
    case 4: try_model(input); break;
    default: {
      EventBytes bytes(input.data(), input.size());
      try_pair(bytes);
    }
  }
  return 0;
}
