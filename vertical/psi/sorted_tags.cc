#include "vertical/psi/sorted_tags.h"

#include <algorithm>

namespace coterie::vertical {

void SortedTags::add(const PsiTag& tag) {
  entries_.push_back({.tag = tag, .place = static_cast<uint32_t>(entries_.size())});
  if (entries_.size() - sorted_ == run_entries_) sort_run();
}

void SortedTags::sort_run() {
  const auto first = entries_.begin() + static_cast<ptrdiff_t>(sorted_);
  std::ranges::sort(first, entries_.end(), {}, &PlacedTag::tag);
  runs_.push_back({.at = sorted_, .end = entries_.size()});
  sorted_ = entries_.size();
}

void SortedTags::begin_reading() {
  if (sorted_ < entries_.size()) sort_run();
  std::ranges::make_heap(runs_, is_behind());
}

void SortedTags::advance() {
  std::ranges::pop_heap(runs_, is_behind());
  Run& run = runs_.back();
  if (++run.at == run.end) {
    runs_.pop_back();
  } else {
    std::ranges::push_heap(runs_, is_behind());
  }
}

}  // namespace coterie::vertical
