// BlindMatcher: who compares what a ring of parties has blinded (ring_matching.h), as a stage. It sees tags of elements
// that all parties have multiplied and shuffled, and answers with the places of those that every list has. It learns
// how many tags any of the lists share, by bucket, and nothing that a tag is made of.
//
//   each party j                      matcher
//   desk                           ->
//   for each bucket:
//     tags of the list of j + 1    ->
//                                  <- matches: places in that list, ascending by tag
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/result.h"
#include "vertical/psi/psi_wire.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

constexpr uint32_t kRingPartiesMin = 3, kRingPartiesMax = 8;

class BlindMatcher final : public Stage {
 public:
  // `entries_max`: tags that all lists of a bucket may have together, which bounds its memory at some 24 bytes each.
  // Precondition: kRingPartiesMin <= parties <= kRingPartiesMax.
  BlindMatcher(uint32_t parties, uint64_t entries_max);

  std::optional<Message> next() override;
  // From any party, in any order between parties. `refused` with the reason "desk_differs" for parties that mean
  // different matchings, too_large with "bucket_too_large" above entries_max, malformed for a tag that comes twice in a
  // list.
  Status receive(const Message& message) override;
  bool done() const override { return is_over_ && outbox_.empty(); }

 private:
  struct Entry {
    std::array<uint8_t, 16> tag;
    uint32_t place;
  };
  struct Side {
    std::optional<PsiDesk> desk;
    std::optional<SliceReader> reader;
    std::vector<Entry> entries;
  };

  Status take_desk(const Message& message, Side& side);
  void begin_bucket();
  Status match();

  uint64_t entries_max_;
  std::vector<Side> sides_;
  uint32_t bucket_ = 0;
  bool is_over_ = false;
  std::deque<Message> outbox_;
};

}  // namespace coterie::vertical
