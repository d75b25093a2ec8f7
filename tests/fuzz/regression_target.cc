// Both parties of a regression and their dealer, and somebody between them who changes messages of any of the three.
// Whatever comes is an error or is taken; honest parties end with a model.
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
  RegressionColumns columns(1);
  std::vector<float> labels;
  for (uint32_t i = 0; i < kPeople; ++i) {
    columns[0].push_back(static_cast<float>(i % 5));
    labels.push_back(i % 5 > 2 ? 1.0f : 0.0f);
  }
  const RegressionShape shape{
      .rows = kPeople, .label_columns = 2, .feature_columns = 1, .batch = settings.batch, .epochs = settings.epochs};
  const std::array<std::unique_ptr<RegressionTraining>, 2> party = {
      std::move(*start_label_regression(shape, settings, columns, labels)),
      std::move(*start_feature_regression(shape, settings, columns))};
  std::array<Dealing, 2> dealing = {*Dealing::make(shape, 0, dealt_seed(1), dealt_seed(2)),
                                    *Dealing::make(shape, 1, dealt_seed(1), dealt_seed(2))};
  bool is_honest = true;
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
