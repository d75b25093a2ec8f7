// SortedTags: a party's list of tags as a matcher reads it: ascending, whatever the order in which they came. It sorts
// runs of them as they come and merges the runs as it is read, so that no step is as long as the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vertical/psi/blinding.h"

namespace coterie::vertical {

struct PlacedTag {
  PsiTag tag;
  uint32_t place;  // in the list as it came
};

class SortedTags {
 public:
  // How many tags are sorted at once.
  static constexpr size_t kRunEntries = size_t{1} << 15;

  explicit SortedTags(size_t run_entries = kRunEntries) : run_entries_(run_entries) {}

  // ---- While they come
  void add(const PsiTag& tag);
  size_t size() const { return entries_.size(); }

  // ---- Behind the last one
  void begin_reading();
  bool ended() const { return runs_.empty(); }
  const PlacedTag& head() const { return entries_[runs_.front().at]; }  // the smallest of what is left
  void advance();

 private:
  struct Run {
    size_t at = 0, end = 0;  // of entries_
  };
  void sort_run();
  // A heap has its smallest run on top.
  auto is_behind() const {
    return [this](const Run& a, const Run& b) { return entries_[b.at].tag < entries_[a.at].tag; };
  }

  size_t run_entries_;
  std::vector<PlacedTag> entries_;  // each run of so many ascending
  size_t sorted_ = 0;               // of entries_
  std::vector<Run> runs_;           // with something left: a heap
};

}  // namespace coterie::vertical
