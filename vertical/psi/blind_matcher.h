// BlindMatcher: who compares what a ring of parties has blinded (ring_matching.h), as a stage. It sees tags of elements
// that all parties have multiplied and shuffled, and answers with the places of those that every list has. It learns
// how many tags any of the lists share, by bucket, and nothing that a tag is made of.
//
//   each party j                      matcher
//   desk                           ->
//   for each bucket:
//     tags of the list of j + 1    ->
//                                  <- matches: places in that list, ascending by tag
//
// A bucket may have millions of tags, and whoever runs the matcher has others to serve: it compares in steps.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "vertical/psi/psi_wire.h"
#include "vertical/psi/sorted_tags.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

constexpr uint32_t kRingPartiesMin = 3, kRingPartiesMax = 8;

class BlindMatcher final : public Stage {
 public:
  // How many tags a step looks at.
  static constexpr size_t kStepEntries = size_t{1} << 14;

  // `entries_max`: tags that all lists of a bucket may have together, which bounds its memory at some 24 bytes each.
  // Preconditions: kRingPartiesMin <= parties <= kRingPartiesMax, step_entries > 0.
  BlindMatcher(uint32_t parties, uint64_t entries_max, size_t step_entries = kStepEntries);

  std::optional<Message> next() override;
  // From any party, in any order between parties: one may have told its tags before another its desk. `refused` with
  // the reason "desk_differs" for parties that mean different matchings, too_large with "bucket_too_large" above
  // entries_max, malformed for what does not come next.
  Status receive(const Message& message) override;
  bool done() const override { return is_over_ && !is_telling(); }

  // All lists of a bucket are here, and next() has given what was said of the one before: compare() is to be called.
  bool is_comparing() const { return is_whole_ && !is_telling(); }
  // A step. malformed for a tag that comes twice in a list. Precondition: is_comparing().
  Status compare();
  // next() has something to give.
  bool is_telling() const { return telling_ < sides_.size(); }

 private:
  struct Side {
    std::optional<PsiDesk> desk;
    std::optional<SliceReader> reader;
    SortedTags tags;
    std::vector<uint32_t> places;  // of those that all lists have
  };

  Status take_desk(const Message& message, Side& side);
  void begin_list(Side& side);
  void end_bucket();

  uint64_t entries_max_;
  std::vector<Side> sides_;
  uint32_t bucket_ = 0;
  bool is_over_ = false;
  bool is_whole_ = false;  // all lists of the bucket are here
  size_t step_entries_;
  size_t telling_;                     // which party is told its places next; all are: nobody
  std::optional<SliceWriter> writer_;  // of its places
};

}  // namespace coterie::vertical
