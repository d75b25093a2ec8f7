// Stage: one party's side of one step of a vertical job (the matching of ids, a tree), as a pure machine. Messages
// in, messages out: no socket, file, clock or thread. Whoever runs it carries the messages, keeps their order between
// two parties, and stops at the first error.
//
//   while (!done()) { send all that next() gives; receive() the next message from any peer }
//
// Randomness comes from a seed given at construction, so that a stage that is run again sends the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"

namespace coterie::vertical {

// A party's place in the job's manifest, from 0; the label party is 0.
using PartyIndex = uint32_t;

// Who compares what parties have blinded (vertical/psi/blind_matcher.h), as a party calls it: none of them.
constexpr PartyIndex kMatcher = 255;

// What a message may hold at most. A stage that has more to say cuts it: no party keeps more than one message of a
// peer.
constexpr size_t kMessageBytesMax = size_t{1} << 20;

struct Message {
  PartyIndex peer = 0;           // to whom, or from whom
  uint16_t kind = 0;             // of the stage's own kinds; another stage's are refused
  std::vector<uint8_t> payload;  // at most kMessageBytesMax
};

class Stage {
 public:
  virtual ~Stage() = default;

  // The next message to send; none while there is something to receive first, or nothing more to say. Messages to one
  // peer arrive in this order.
  virtual std::optional<Message> next() = 0;

  // A message of a peer, which is the adversary: of any kind, size and content, at any time. An error ends the job; the
  // stage is not used again. It names what was expected and what came.
  virtual Status receive(const Message& message) = 0;

  // Nothing more to send or to receive.
  virtual bool done() const = 0;
};

// A stage with more than one peer, whose messages it takes in an order of its own.
class OrderedStage : public Stage {
 public:
  // The peer whose message comes next, when next() gives nothing and it is not done().
  virtual PartyIndex awaits() const = 0;
};

}  // namespace coterie::vertical
