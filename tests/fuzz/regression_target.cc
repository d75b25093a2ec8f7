// Both parties of a regression and their dealer, and somebody between them who changes messages of any of the three.
// Whatever comes is an error or is taken; honest parties end with a model. Some trainings go on from a checkpoint,
// whose shares may be anything.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "tests/fuzz/event_bytes.h"
#include "vertical/regression/dealing.h"
#include "vertical/regression/train_regression.h"

namespace {

using namespace coterie;
using namespace coterie::vertical;
using coterie::test::EventBytes;

constexpr uint32_t kPeople = 16;

Secret<32> dealt_seed(uint8_t first) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = first;
  return seed;
}

// Whether it is another one afterwards.
bool change_word(Message& message, EventBytes& bytes) {
  const Message before = message;
  switch (bytes.below(24)) {
    case 0: message.kind = static_cast<uint16_t>(message.kind + bytes.next()); break;
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
  const RegressionSettings settings{.epochs = 2, .batch = 16, .rate = 0.1};
  const bool goes_on = bytes.one_in(2);
  RegressionColumns columns(1);
  std::vector<float> labels;
  for (uint32_t i = 0; i < kPeople; ++i) {
    columns[0].push_back(static_cast<float>(i % 5));
    labels.push_back(i % 5 > 2 ? 1.0f : 0.0f);
  }
  const RegressionShape shape{
      .rows = kPeople, .label_columns = 2, .feature_columns = 1, .batch = settings.batch, .epochs = settings.epochs};
  bool is_honest = true;
  std::array<RegressionCheckpoint, 2> from;
  if (goes_on) {
    from[0] = {.steps = 1, .own_weights = {bytes.next(), 5}, .peer_weights = {7}, .opened = {}};
    from[1] = {.steps = 1, .own_weights = {1}, .peer_weights = {bytes.next(), 9}, .opened = {}};
    // Written and read again, as a party's journal has them; somebody may have changed the file.
    for (RegressionCheckpoint& checkpoint : from) {
      Bytes kept = write_regression_checkpoint(checkpoint);
      if (bytes.one_in(8)) {
        is_honest = false;
        kept[bytes.below(kept.size())] = bytes.next();
      }
      Result<RegressionCheckpoint> read = read_regression_checkpoint(kept);
      if (!read) return 0;
      checkpoint = std::move(*read);
    }
  }
  auto label = start_label_regression(shape, settings, columns, labels, from[0]);
  auto feature = start_feature_regression(shape, settings, columns, from[1]);
  if (!label || !feature) {
    COT_ASSERT(!is_honest);
    return 0;
  }
  const std::array<std::unique_ptr<RegressionTraining>, 2> party = {std::move(*label), std::move(*feature)};
  const uint32_t first_step = goes_on ? 1 : 0;
  std::array<Dealing, 2> dealing = {*Dealing::make(shape, 0, dealt_seed(1), dealt_seed(2), first_step),
                                    *Dealing::make(shape, 1, dealt_seed(1), dealt_seed(2), first_step)};
  const auto give = [&](Message message, PartyIndex from, PartyIndex to) {
    message.peer = from;
    if (change_word(message, bytes)) is_honest = false;
    const bool is_taken = party[to]->receive(message).has_value();
    COT_ASSERT(is_taken || !is_honest);
    return is_taken;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (PartyIndex from = 0; from < 2; ++from) {
      while (std::optional<Message> message = party[from]->next()) {
        if (!give(*message, from, message->peer)) return 0;  // an error ends the job
        moved = true;
      }
      while (!party[from]->done() && party[from]->awaits() == kDealer) {
        const std::optional<Message> message = dealing[from].next();
        if (!message) break;
        if (!give(*message, kDealer, from)) return 0;
        moved = true;
      }
    }
  }
  COT_ASSERT((party[0]->done() && party[1]->done()) || !is_honest);
  for (const auto& one : party) {
    if (one->done()) COT_ASSERT(one->model() || !is_honest);
  }
  return 0;
}
