#include "device_sdk/runtime/bfloat16_choice.h"

#include <algorithm>
#include <utility>

#include "device_sdk/runtime/memory_plan.h"

namespace coterie {
namespace {

// How many programs are looked at: a fraction of a second for the largest models. What is not looked at stays as it is.
constexpr int kTriesMax = 256;
constexpr uint64_t kSavedShareMin = 64;  // one part in so many

class Choosing {
 public:
  Choosing(const Program& program, std::span<const std::vector<BufferId>> groups)
      : program_(program), groups_(groups), is_narrow_(groups.size()) {}

  std::vector<size_t> run() {
    if (groups_.empty()) return {};
    alive_ = with(is_narrow_).most_bytes_alive();
    std::vector<size_t> order(groups_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    change(order, true);
    std::reverse(order.begin(), order.end());
    change(order, false);
    std::vector<size_t> chosen;
    for (size_t i = 0; i < is_narrow_.size(); ++i) {
      if (is_narrow_[i]) chosen.push_back(i);
    }
    return chosen;
  }

  Program with(const std::vector<bool>& is_narrow) const {
    Program program = program_;
    std::vector<BufferId> buffers;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (is_narrow[i]) buffers.insert(buffers.end(), groups_[i].begin(), groups_[i].end());
    }
    program.hold_as_bfloat16(buffers);
    program.join_elementwise();
    return program;
  }

  const std::vector<bool>& is_narrow() const { return is_narrow_; }

 private:
  // All of them at once if no more bytes are alive then, or what of each half can be.
  void change(std::span<const size_t> some, bool is_narrow) {
    if (++tries_ > kTriesMax) return;
    std::vector<bool> changed = is_narrow_;
    for (const size_t group : some) changed[group] = is_narrow;
    if (changed == is_narrow_) return;
    const uint64_t alive = with(changed).most_bytes_alive();
    if (alive <= alive_) {
      alive_ = alive;
      is_narrow_ = std::move(changed);
    } else if (some.size() > 1) {
      change(some.first(some.size() / 2), is_narrow);
      change(some.subspan(some.size() / 2), is_narrow);
    }
  }

  const Program& program_;
  std::span<const std::vector<BufferId>> groups_;
  std::vector<bool> is_narrow_;
  uint64_t alive_ = 0;
  int tries_ = 0;
};

}  // namespace

Result<NarrowedChoice> choose_narrowed(const Program& program, std::span<const std::vector<BufferId>> groups,
                                       uint64_t bytes_max) {
  Choosing choosing(program, groups);
  Program plain = choosing.with(choosing.is_narrow());
  COT_TRY(plain.plan(bytes_max));  // first: it bounds what is added up
  NarrowedChoice choice{.groups = choosing.run()};
  if (choice.groups.empty()) return choice;
  Program narrow = choosing.with(choosing.is_narrow());
  COT_TRY(narrow.plan(bytes_max));
  const uint64_t before = plain.planned_bytes(), after = narrow.planned_bytes();
  if (after >= before || before - after < before / kSavedShareMin) return NarrowedChoice{};
  choice.bytes_saved = before - after;
  return choice;
}

}  // namespace coterie
