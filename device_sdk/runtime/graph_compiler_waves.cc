// Which programs run in waves (waves.h): those for several threads whose memory does not grow by too much for it.
#include <algorithm>

#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/left_out.h"

namespace coterie {
namespace {

// The planned memory of a program in waves: at most so many times that in turn, or by so many bytes more.
constexpr double kWavePeakMax = 1.25;
constexpr uint64_t kWavePeakFreeBytes = 1 << 20;

}  // namespace

// What a delegate computes is called by one thread: a program with such parts has no waves.
Status GraphCompiler::run_in_waves_if_it_fits(ArenaLayout& layout) {
  if (!kHasWaves || !settings_.runs_waves || settings_.threads == 1 || settings_.external != nullptr) return {};
  Program in_waves = program_;
  if (!in_waves.run_in_waves(op_flops_)) return {};
  COT_TRY(in_waves.plan(settings_.arena_bytes_max));
  const auto in_turn_bytes = static_cast<double>(layout.planned_bytes);
  const double bytes_max = std::max(in_turn_bytes * kWavePeakMax, in_turn_bytes + double{kWavePeakFreeBytes});
  ArenaLayout needed = layout;
  needed.planned_bytes = in_waves.planned_bytes();
  if (static_cast<double>(needed.planned_bytes) > bytes_max) return {};
  if (needed.bytes() > std::max(settings_.arena_bytes_max, layout.bytes())) return {};
  const uint64_t limit = settings_.planned_bytes_max;
  if (limit != 0 && needed.planned_bytes > std::max(limit, layout.planned_bytes)) return {};
  layout = needed;
  program_ = std::move(in_waves);
  return {};
}

}  // namespace coterie
