#include "secure/he/lane_sums.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace coterie::he {
namespace {

constexpr size_t kPartMin = 16;     // shorter parts cost more to put together than they save
constexpr size_t kPartsOfLane = 8;  // so that lanes are done at about the same time

// A part of a list, and where its product goes.
struct Part {
  std::span<const uint64_t* const> rows;
  LaneWords* product = nullptr;
};

void multiply_parts(const LaneRing& modulus, std::vector<Part> parts) {
  // The longest first: lanes that are free at the end then wait for short parts only.
  std::ranges::stable_sort(parts, std::ranges::greater{}, [](const Part& part) { return part.rows.size(); });
  LaneWords products = modulus.lanes(), factors = modulus.lanes();
  modulus.load({}, products);
  std::array<Part, kLanes> in_lane;
  std::array<const uint64_t*, kLanes> next{};
  size_t taken = 0;
  for (;;) {
    size_t steps = 0;
    for (size_t l = 0; l < kLanes; ++l) {
      Part& part = in_lane[l];
      if (part.rows.empty() && part.product != nullptr) {
        *part.product = modulus.lane_of(products, l);
        part = {};
      }
      if (part.product == nullptr && taken < parts.size()) {
        part = parts[taken++];
        modulus.set_lane(products, l, part.rows[0]);
        part.rows = part.rows.subspan(1);
      }
      // Parts of one row are done; they leave at the next turn.
      if (!part.rows.empty()) steps = steps == 0 ? part.rows.size() : std::min(steps, part.rows.size());
    }
    if (steps == 0 && std::ranges::all_of(in_lane, [](const Part& part) { return part.product == nullptr; })) return;
    for (size_t step = 0; step < steps; ++step) {
      for (size_t l = 0; l < kLanes; ++l) {
        // An idle lane multiplies by 1, as all eight do the same.
        next[l] = in_lane[l].rows.empty() ? modulus.one().data() : in_lane[l].rows[step];
      }
      modulus.load(next, factors);
      modulus.multiply(products, factors, products);
    }
    for (Part& part : in_lane) {
      if (!part.rows.empty()) part.rows = part.rows.subspan(steps);
    }
  }
}

}  // namespace

std::vector<LaneWords> products_of(const LaneRing& modulus, std::vector<RowList> lists) {
  const size_t rows = std::accumulate(lists.begin(), lists.end(), size_t{0},
                                      [](size_t sum, const RowList& list) { return sum + list.size(); });
  const size_t part_max = std::max(kPartMin, rows / (kLanes * kPartsOfLane));
  std::vector<LaneWords> products(lists.size());
  std::vector<std::vector<LaneWords>> of_parts(lists.size());
  std::vector<Part> parts;
  for (size_t i = 0; i < lists.size(); ++i) {
    const size_t count = (lists[i].size() + part_max - 1) / part_max;
    if (count == 1) parts.push_back({lists[i], &products[i]});
    if (count <= 1) continue;
    of_parts[i].resize(count);
    for (size_t k = 0; k < count; ++k) {
      const size_t first = lists[i].size() * k / count, end = lists[i].size() * (k + 1) / count;
      parts.push_back({std::span(lists[i]).subspan(first, end - first), &of_parts[i][k]});
    }
  }
  multiply_parts(modulus, std::move(parts));
  // Then the parts of what was cut, which are at most a sixteenth as many.
  std::vector<RowList> cut(lists.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const LaneWords& part : of_parts[i]) cut[i].push_back(part.data());
  }
  if (std::ranges::all_of(cut, &RowList::empty)) return products;
  std::vector<LaneWords> of_cut = products_of(modulus, std::move(cut));
  for (size_t i = 0; i < lists.size(); ++i) {
    if (!of_cut[i].empty()) products[i] = std::move(of_cut[i]);
  }
  return products;
}

}  // namespace coterie::he
