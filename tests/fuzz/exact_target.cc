// Both parties of an exact regression, and somebody between them who changes messages. Whatever comes is an error or is
// taken; honest parties end with a model. Some trainings go on from a checkpoint, which somebody may have changed.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "tests/fuzz/event_bytes.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "vertical/exact/train_exact.h"

namespace {

using namespace coterie;
using namespace coterie::vertical;
using coterie::test::EventBytes;

// Whether it is another one afterwards.
bool change_exact(Message& message, EventBytes& bytes) {
  const Message before = message;
  switch (bytes.below(16)) {
    case 0: message.kind = static_cast<uint16_t>(199 + bytes.below(8)); break;
    case 1: message.payload.resize(bytes.next()); break;
    case 2: message.payload.push_back(bytes.next()); break;
    case 3:
      if (!message.payload.empty()) {
        message.payload[bytes.below(std::min<size_t>(256, message.payload.size()))] = bytes.next();
      }
      break;
    default: break;
  }
  return message.kind != before.kind || message.payload != before.payload;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  EventBytes bytes(data, size);
  const uint32_t rows = exact_rows_min(1);
  const RegressionSettings settings{.epochs = 6, .batch = rows, .rate = 0.1};
  std::vector<std::vector<float>> columns(1);
  std::vector<float> labels;
  for (uint32_t i = 0; i < rows; ++i) {
    columns[0].push_back(static_cast<float>(i % 5));
    labels.push_back(i % 5 > 2 ? 1.0f : 0.0f);
  }
  bool is_honest = true;
  std::array<ExactCheckpoint, 2> from;
  if (bytes.one_in(2)) {
    from[0] = {.steps = 4, .said = {}, .weights = {0.25, bytes.next() / 128.0}};
    from[1] = {.steps = 4, .said = {}, .weights = {bytes.next() / 128.0}};
    // Written and read again, as a party's journal has them; somebody may have changed the file.
    for (ExactCheckpoint& checkpoint : from) {
      Bytes kept = write_exact_checkpoint(checkpoint);
      if (bytes.one_in(8)) {
        is_honest = false;
        kept[bytes.below(kept.size())] = bytes.next();
      }
      Result<ExactCheckpoint> read = read_exact_checkpoint(kept);
      if (!read) return 0;
      checkpoint = std::move(*read);
    }
  }
  auto label = start_label_exact({.settings = settings, .rows = rows, .from = from[0]}, columns, labels,
                                 std::make_unique<vertical::test::PlainKey>());
  auto feature = start_feature_exact({.settings = settings, .rows = rows, .from = from[1]}, columns, Secret<32>(),
                                     vertical::test::plain_cipher);
  if (!label || !feature) {
    COT_ASSERT(!is_honest);
    return 0;
  }
  const std::array<std::unique_ptr<ExactTraining>, 2> party = {std::move(*label), std::move(*feature)};
  for (bool moved = true; moved;) {
    moved = false;
    for (PartyIndex sender = 0; sender < 2; ++sender) {
      while (std::optional<Message> message = party[sender]->next()) {
        message->peer = sender;
        if (change_exact(*message, bytes)) is_honest = false;
        const bool is_taken = party[1 - sender]->receive(*message).has_value();
        COT_ASSERT(is_taken || !is_honest);
        if (!is_taken) return 0;  // an error ends the job
        moved = true;
      }
    }
  }
  COT_ASSERT((party[0]->done() && party[1]->done()) || !is_honest);
  return 0;
}
