// MatcherOracle: what the matcher of a ring (vertical/psi/blind_matcher.h) must answer, by the tags that parties have
// told it.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "vertical/stage/stage.h"

namespace coterie::simulation {

class MatcherOracle {
 public:
  explicit MatcherOracle(vertical::PartyIndex parties) : parties_(parties) {}

  // The payload of a message to the matcher, as vertical/psi/psi_wire.h has it.
  void told(vertical::PartyIndex from, uint16_t kind, ByteView payload);
  // Whether these `matches` name places of tags that all lists of the bucket have, and as many as there are.
  bool is_answer_to(vertical::PartyIndex party, ByteView matches) const;

 private:
  struct List {
    size_t entries = 0;  // that it is to have
    std::vector<Bytes> tags;
  };
  vertical::PartyIndex parties_;
  size_t tag_bytes_ = 0;
  std::map<std::pair<vertical::PartyIndex, uint32_t>, List> lists_;  // party, bucket
};

}  // namespace coterie::simulation
