#include "fl_server/model_view/layer_blocks.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace coterie {
namespace {

constexpr std::string_view kSeparators = "./";

// An op, or a block of them.
struct Item {
  uint32_t first = 0, count = 1;
  std::string name = {};  // of a block
  std::vector<Item> items = {};
};
using Items = std::vector<Item>;

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    const size_t end = std::min(name.find_first_of(kSeparators), name.size());
    if (end > 0) parts.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return parts;
}

Item block_of(std::string name, Items items) {
  const uint32_t first = items.front().first;
  return {first, items.back().first + items.back().count - first, std::move(name), std::move(items)};
}

class Grouping {
 public:
  explicit Grouping(std::span<const OpInfo> ops) : ops_(ops) {
    for (const OpInfo& op : ops) parts_.push_back(parts_of(op.name));
  }

  // Ops [first, end), whose names agree in their first `depth` parts.
  Items group(uint32_t first, uint32_t end, size_t depth) const {
    return by_number(by_repeat(by_name(first, end, depth)));
  }

 private:
  // Whether the op is in something of this depth, and is not itself it.
  bool has_prefix(uint32_t op, size_t depth) const { return parts_[op].size() > depth + 1; }

  Items by_name(uint32_t first, uint32_t end, size_t depth) const {
    Items items;
    for (uint32_t at = first; at < end;) {
      uint32_t next = at + 1;
      if (has_prefix(at, depth)) {
        while (next < end && has_prefix(next, depth) && parts_[next][depth] == parts_[at][depth]) ++next;
      }
      if (next - at == 1) {
        items.push_back({.first = at});
      } else if (next - at == end - first) {
        return by_name(first, end, depth + 1);  // a part that all have divides nothing
      } else {
        items.push_back(block_of(std::string(parts_[at][depth]), group(at, next, depth + 1)));
      }
      at = next;
    }
    return items;
  }

  // What an item computes: the same number for the same kinds in the same order.
  std::vector<size_t> signatures(const Items& items) const {
    std::map<std::vector<OpKind>, size_t> known;
    std::vector<size_t> all;
    for (const Item& item : items) {
      std::vector<OpKind> kinds;
      for (uint32_t op = item.first; op < item.first + item.count; ++op) kinds.push_back(ops_[op].kind);
      all.push_back(known.try_emplace(std::move(kinds), known.size()).first->second);
    }
    return all;
  }

  std::string repeat_name(const Item& first, const Item& last, size_t number, size_t times) const {
    const OpInfo& begin = ops_[first.first];
    const OpInfo& end = ops_[last.first + last.count - 1];
    return std::string(to_string(begin.kind)) + " to " + std::string(to_string(end.kind)) + ", " +
           std::to_string(number) + " of " + std::to_string(times);
  }

  Items by_repeat(Items items) const {
    if (items.size() <= kPlainItemsMax) return items;
    const std::vector<size_t> what = signatures(items);
    // again[length][at]: how many items from `at` on are as those `length` behind.
    const size_t longest = std::min(kRepeatItemsMax, items.size() / 2);
    std::vector<std::vector<uint32_t>> again(longest + 1, std::vector<uint32_t>(items.size() + 1, 0));
    for (size_t length = 2; length <= longest; ++length) {
      for (size_t at = items.size() - length; at-- > 0;) {
        again[length][at] = what[at] == what[at + length] ? again[length][at + 1] + 1 : 0;
      }
    }
    Items grouped;
    for (size_t at = 0; at < items.size();) {
      size_t best = 0, times = 0;
      for (size_t length = 2; length <= std::min(longest, items.size() - at); ++length) {
        const size_t found = again[length][at] / length + 1;
        if (found > 1 && found * length > best * times) best = length, times = found;
      }
      if (times == 0) {
        grouped.push_back(std::move(items[at++]));
        continue;
      }
      for (size_t number = 1; number <= times; ++number, at += best) {
        std::string name = repeat_name(items[at], items[at + best - 1], number, times);
        const auto begin = std::make_move_iterator(items.begin() + static_cast<ptrdiff_t>(at));
        grouped.push_back(block_of(std::move(name), by_number(Items(begin, begin + static_cast<ptrdiff_t>(best)))));
      }
    }
    return grouped;
  }

  static Items by_number(Items items) {
    while (items.size() > kBlockItemsMax) {
      const size_t pieces = (items.size() + kBlockItemsMax - 1) / kBlockItemsMax;
      Items divided;
      for (size_t piece = 0; piece < pieces; ++piece) {
        const auto bound = [&](size_t of) { return static_cast<ptrdiff_t>(of * items.size() / pieces); };
        Items in(std::make_move_iterator(items.begin() + bound(piece)),
                 std::make_move_iterator(items.begin() + bound(piece + 1)));
        divided.push_back(
            block_of("part " + std::to_string(piece + 1) + " of " + std::to_string(pieces), std::move(in)));
      }
      items = std::move(divided);
    }
    return items;
  }

  std::span<const OpInfo> ops_;
  std::vector<std::vector<std::string_view>> parts_;
};

void list(const Items& items, uint32_t parent, std::vector<LayerBlock>& blocks) {
  for (const Item& item : items) {
    if (item.items.empty()) continue;
    const auto here = static_cast<uint32_t>(blocks.size());
    blocks.push_back({item.name, item.first, item.count, parent});
    list(item.items, here, blocks);
  }
}

}  // namespace

std::vector<LayerBlock> layer_blocks(std::span<const OpInfo> ops) {
  std::vector<LayerBlock> blocks;
  list(Grouping(ops).group(0, static_cast<uint32_t>(ops.size()), 0), kNoBlock, blocks);
  return blocks;
}

}  // namespace coterie
