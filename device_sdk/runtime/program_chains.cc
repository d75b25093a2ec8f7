// Neighbouring steps that compute element by element become one, which goes through the tensors in blocks: what one of
// them writes the next reads from the first-level cache, and what nobody else reads is never in memory as a whole.
// Their own functions run on parts of what they ran on, which changes no bit.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "device_sdk/runtime/program.h"

namespace coterie {
namespace {

constexpr size_t kBlock = by_elements(0).grain;    // 4 KiB of an operand: five of them leave room in the cache
constexpr size_t kLinksMax = 8, kOperandsMax = 8;  // of a link

// Where an operand of a link lies: in a block of the workspace, or in a buffer of the chain.
struct Place {
  bool is_block;
  size_t index;
};

struct Link {
  const StepKind* kind;
  std::shared_ptr<const void> settings;
  std::vector<Place> places;
};

struct Chain {
  std::vector<Link> links;
  size_t block;          // elements
  size_t workspace = 0;  // of the chain's buffers
};

// Where a tensor would start if its elements from `begin` on lie in the block. Nothing before them is touched.
float* start_of(float* block, size_t begin) {
  return reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(block) - begin * sizeof(float));
}

void run_chain(const Step& step, const StepContext& context) {
  const auto& chain = step.as<Chain>();
  float* const blocks = step.buffers[chain.workspace];
  float* buffers[kOperandsMax];
  for (size_t begin = step.part.begin; begin < step.part.end; begin += kBlock) {
    const kernels::Range block{begin, std::min(step.part.end, begin + kBlock)};
    for (const Link& link : chain.links) {
      float** buffer = buffers;
      for (const auto& [is_block, index] : link.places) {
        *buffer++ = is_block ? start_of(blocks + index * chain.block, begin) : step.buffers[index];
      }
      link.kind->run({link.kind, buffers, link.settings.get(), block}, context);
    }
  }
}

// The links in turn, with what each would say alone.
void describe(const Chain& chain, SettingsText& text) {
  for (const Link& link : chain.links) {
    const std::string settings = link.kind->describe(link.settings.get());
    text.add(std::string(link.kind->name()) + (settings.empty() ? "" : " (" + settings + ")"));
  }
}

constexpr StepKindOf<Chain> kChainStep{"chain", run_chain, describe};

}  // namespace

struct Program::Chaining {
  Program& program;
  std::vector<uint32_t> named;  // per buffer: by how many steps
  std::vector<bool> is_there;   // per buffer: filled by the caller or named by a step in front

  explicit Chaining(Program& of) : program(of), named(of.buffers_.size()), is_there(of.buffers_.size()) {
    for (BufferId id = 0; id < is_there.size(); ++id) is_there[id] = program.buffers_[id].is_filled_before;
    for (const auto& drafts : program.drafts_) {
      for (const Draft& draft : drafts) {
        for (const BufferId id : distinct(draft)) ++named[id];
      }
    }
  }

  std::vector<BufferId> distinct(const Draft& draft) const {
    const auto operands = program.operands_of(draft);
    std::vector<BufferId> ids(operands.begin(), operands.end());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::erase(ids, kNoBuffer);
    return ids;
  }

  bool names(const Draft& draft, BufferId id) const {
    const auto operands = program.operands_of(draft);
    return std::find(operands.begin(), operands.end(), id) != operands.end();
  }

  bool any_names(std::span<const Draft> drafts, BufferId id) const {
    return std::any_of(drafts.begin(), drafts.end(), [&](const Draft& draft) { return names(draft, id); });
  }

  static bool is_link(const Draft& draft) {
    return draft.split.is_elementwise && !draft.changes_state && draft.buffer_count <= kOperandsMax;
  }

  // How many drafts from the first on are one chain: each works on what one in front of it works on.
  size_t length(std::span<const Draft> drafts) const {
    size_t count = 1;
    while (count < std::min(drafts.size(), kLinksMax) && is_link(drafts[0]) && is_link(drafts[count])) {
      const std::vector<BufferId> operands = distinct(drafts[count]);
      const bool is_near = std::any_of(operands.begin(), operands.end(), [&](BufferId id) {
        return program.buffers_[id].place == Place::planned && any_names(drafts.first(count), id);
      });
      // One range of units for all links: a block is the same elements in each.
      if (!is_near || drafts[count].split.units != drafts[0].split.units) break;
      ++count;
    }
    return count;
  }

  // Written and read by these alone.
  bool is_inner(BufferId id, std::span<const Draft> links) const {
    if (id == kNoBuffer || is_there[id]) return false;
    const Buffer& buffer = program.buffers_[id];
    const auto count = std::count_if(links.begin(), links.end(), [&](const Draft& link) { return names(link, id); });
    return buffer.place == Place::planned && !buffer.is_read_after && named[id] == static_cast<uint64_t>(count) &&
           buffer.bytes == links[0].split.units * sizeof(float);
  }

  // Where `id` is in the list, if need be at the end or in a place that is free.
  static size_t place(std::vector<BufferId>& list, BufferId id, bool takes_free) {
    auto at = std::find(list.begin(), list.end(), id);
    if (at == list.end() && takes_free) at = std::find(list.begin(), list.end(), kNoBuffer);
    if (at == list.end()) at = list.insert(at, id);
    *at = id;
    return static_cast<size_t>(at - list.begin());
  }

  void emit(Phase phase, std::span<const Draft> links) {
    Chain chain{.links = {}, .block = std::min(kBlock, links[0].split.units)};
    std::vector<BufferId> operands, blocks;  // what lies in each block at the time
    Split split = by_elements(links[0].split.units);
    for (size_t i = 0; i < links.size(); ++i) {
      Link& link = chain.links.emplace_back(Link{links[i].kind, links[i].settings, {}});
      for (const BufferId id : program.operands_of(links[i])) {
        const bool is_block = is_inner(id, links);
        link.places.push_back({is_block, place(is_block ? blocks : operands, id, is_block)});
      }
      for (BufferId& id : blocks) {
        if (!any_names(links.subspan(i + 1), id)) id = kNoBuffer;
      }
      split.flops += links[i].split.flops;
      if (links[i].parts > 1)
        program.cut_nanoseconds_ -= program.nanoseconds_of(links[i].split, program.operands_of(links[i]));
    }
    share(links, operands);
    chain.workspace = operands.size();
    operands.push_back(program.add_workspace(blocks.size() * chain.block * sizeof(float)));
    program.set_origin(links.back().origin);  // whose result remains
    program.emit_shared(phase, kChainStep, std::make_shared<const Chain>(std::move(chain)), operands, split);
  }

  // A result may be written over what only links in front of its own read, and no longer over what links behind read.
  void share(std::span<const Draft> links, const std::vector<BufferId>& operands) {
    const auto first = [&](BufferId id) {
      return std::find_if(links.begin(), links.end(), [&](const Draft& link) { return names(link, id); }) -
             links.begin();
    };
    const auto last = [&](BufferId id) {
      size_t i = links.size();
      while (i > 0 && !names(links[i - 1], id)) --i;
      return static_cast<ptrdiff_t>(i) - 1;  // -1: none
    };
    std::erase_if(program.shares_, [&](const Share& share) {
      return last(share.result) >= 0 && !is_there[share.result] && last(share.operand) > first(share.result);
    });
    for (const BufferId result : operands) {
      if (result == kNoBuffer || is_there[result] || program.buffers_[result].place != Place::planned) continue;
      for (const BufferId operand : operands) {
        if (operand == kNoBuffer || !is_there[operand] || program.buffers_[operand].place != Place::planned) continue;
        const bool are_alike = program.buffers_[operand].bytes == program.buffers_[result].bytes &&
                               program.buffers_[operand].bytes == links[0].split.units * sizeof(float);
        if (are_alike && last(operand) < first(result)) program.may_share(result, operand);
      }
    }
  }

  void run(Phase phase) {
    std::vector<Draft> drafts = std::move(program.drafts_[static_cast<size_t>(phase)]);
    program.drafts_[static_cast<size_t>(phase)].clear();
    const uint32_t origin = program.origin_;
    for (std::span<const Draft> rest = drafts; !rest.empty();) {
      const auto links = rest.first(length(rest));
      if (links.size() > 1) emit(phase, links);
      else program.drafts_[static_cast<size_t>(phase)].push_back(links[0]);
      for (const Draft& link : links) {
        for (const BufferId id : distinct(link)) is_there[id] = true;
      }
      rest = rest.subspan(links.size());
    }
    program.set_origin(origin);
  }
};

void Program::join_elementwise() {
  Chaining chaining(*this);
  chaining.run(Phase::forward);
  chaining.run(Phase::backward);
}

}  // namespace coterie
