#include "tools/cli/by_turns.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "tools/cli/local_files.h"

namespace coterie {
namespace {

double median_of(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

Result<double> seconds_of(const std::function<Status()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  COT_TRY(call());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Result<SecondsByTurns> seconds_by_turns(uint32_t turns, const std::function<Status()>& own,
                                        const std::function<Status()>& other) {
  std::vector<double> own_times, other_times;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    COT_TRY(go_on_unless_interrupted());
    COT_ASSIGN(own_times.emplace_back(), seconds_of(own));
    COT_ASSIGN(other_times.emplace_back(), seconds_of(other));
  }
  return SecondsByTurns{median_of(own_times), median_of(other_times)};
}

}  // namespace coterie
