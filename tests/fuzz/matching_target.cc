// Both parties of a matching, and somebody between them who changes messages. Whatever comes
// is an error or is taken; who takes all that an honest peer sent finds what both have.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "tests/fuzz/event_bytes.h"
#include "vertical/psi/matching.h"

namespace {

using namespace coterie;
using namespace coterie::vertical;

constexpr int kTurnsMax = 200;

std::vector<std::string> ids_from(uint32_t first) {
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < 6; ++i) ids.push_back(std::to_string(first + i));
  return ids;
}

Secret<32> seed_of(uint8_t first) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = first;
  return seed;
}

// Whether `message` is another one afterwards.
bool tamper(Message& message, test::EventBytes& bytes) {
  const Message before = message;
  switch (bytes.below(8)) {
    case 0: message.kind = bytes.next(); break;
    case 1: message.payload.resize(bytes.next()); break;
    case 2: message.payload.push_back(bytes.next()); break;
    case 3:
      if (!message.payload.empty())
        message.payload[bytes.below(std::min<size_t>(256, message.payload.size()))] = bytes.next();
      break;
    default: break;
  }
  return message.kind != before.kind || message.payload != before.payload;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::EventBytes bytes(data, size);
  PsiSettings settings;
  settings.intersection_min = 0;
  settings.bucket_items = 1 + bytes.below(6);
  std::unique_ptr<Matching> party[2] = {
      std::move(*start_label_matching(*IdSet::make(ids_from(0), Duplicates::refuse), settings, 1, seed_of(1))),
      std::move(*start_feature_matching(*IdSet::make(ids_from(3), Duplicates::refuse), settings, 0, seed_of(2)))};
  bool is_honest = true;
  for (int turn = 0, quiet = 0; turn < kTurnsMax && quiet < 2; ++turn) {
    const int from = turn % 2;
    ++quiet;
    while (std::optional<Message> message = party[from]->next()) {
      quiet = 0;
      message->peer = static_cast<PartyIndex>(from);
      if (tamper(*message, bytes)) is_honest = false;
      const Status status = party[1 - from]->receive(*message);
      COT_ASSERT(status.has_value() || !is_honest);
      if (!status) return 0;  // an error ends the job
    }
  }
  if (!is_honest) return 0;
  COT_ASSERT(party[0]->done() && party[1]->done());
  COT_ASSERT(party[0]->matched_rows().size() == 3 && party[0]->outcome() == party[1]->outcome());
  return 0;
}
