// The parties of a ring and their matcher in one process. Each is run as a blocking link runs it: it says all that it
// has, then waits for one peer; who goes next is drawn.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <random>

#include "tests/unit/vertical/psi_pair.h"
#include "vertical/psi/ring_matching.h"

namespace coterie::test {

using vertical::kMatcher;
using vertical::PartyIndex;
using vertical::RingMatching;

struct RingNet {
  std::vector<std::unique_ptr<RingMatching>> parties;
  vertical::BlindMatcher matcher;
  std::map<std::pair<PartyIndex, PartyIndex>, std::deque<Message>> wires;  // from, to
  std::vector<std::pair<PartyIndex, Message>> transcript;                  // from; `peer` is to whom
  std::function<void(PartyIndex from, Message&)> meddle = [](PartyIndex, Message&) {};

  RingNet(const std::vector<std::vector<std::string>>& sets, const vertical::PsiSettings& settings,
          uint64_t entries_max = 1 << 20)
      : matcher(static_cast<uint32_t>(sets.size()), entries_max) {
    for (PartyIndex self = 0; self < sets.size(); ++self) {
      auto ids = *vertical::IdSet::make(sets[self], vertical::Duplicates::refuse);
      parties.push_back(
          std::move(*vertical::start_ring_matching(std::move(ids), settings, self, static_cast<uint32_t>(sets.size()),
                                                   psi_seed(static_cast<uint8_t>(self + 1)))));
    }
  }

  bool done() const {
    return std::ranges::all_of(parties, [](const auto& party) { return party->done(); });
  }

  void take_out(PartyIndex from, vertical::Stage& stage) {
    while (std::optional<Message> message = stage.next()) {
      meddle(from, *message);
      transcript.emplace_back(from, *message);
      const PartyIndex to = message->peer;
      message->peer = from;
      wires[{from, to}].push_back(std::move(*message));
    }
  }

  // One message to somebody who waits for it.
  Result<bool> step(uint32_t seed) {
    std::vector<std::pair<PartyIndex, PartyIndex>> ready;
    for (PartyIndex self = 0; self < parties.size(); ++self) {
      take_out(self, *parties[self]);
      if (!parties[self]->done() && !wires[{parties[self]->awaits(), self}].empty()) {
        ready.emplace_back(parties[self]->awaits(), self);
      }
      if (!wires[{self, kMatcher}].empty()) ready.emplace_back(self, kMatcher);
    }
    if (ready.empty()) return false;
    const auto chosen = ready[seed % ready.size()];
    const Message message = wires[chosen].front();
    wires[chosen].pop_front();
    vertical::Stage& to = chosen.second == kMatcher ? static_cast<vertical::Stage&>(matcher) : *parties[chosen.second];
    COT_TRY(to.receive(message));
    while (matcher.is_comparing()) COT_TRY(matcher.compare());
    take_out(chosen.second, to);
    return true;
  }

  Status run(uint32_t seed = 1) {
    std::mt19937 random(seed);
    while (!done()) {
      COT_ASSIGN(const bool moved, step(static_cast<uint32_t>(random())));
      if (!moved) return Error(ErrorCode::internal, "all wait");
    }
    return {};
  }
};

}  // namespace coterie::test
