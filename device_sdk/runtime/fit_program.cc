#include "device_sdk/runtime/fit_program.h"

#include <numeric>
#include <optional>

#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/recompute.h"

namespace coterie {
namespace {

constexpr int kTries = 6;
constexpr double kTryStep = 0.96;     // from one limit to the next, looking for the cheapest
constexpr double kHopeless = 1.1;     // by so much above the limit, a lower one does not help either
constexpr double kLadderStep = 0.75;  // looking for the least

struct Fitted {
  Program program;
  Recomputed recomputed;
};

class Fitting {
 public:
  Fitting(const Program& program, std::span<const double> op_flops, uint64_t bytes_max, bool joins_steps)
      : program_(program), schedule_(program.schedule(op_flops)), bytes_max_(bytes_max), joins_steps_(joins_steps) {
    for (const ScheduledStep& step : schedule_.steps) cost_ += step.cost;
  }

  // With at most so many bytes alive, or as few as it gets.
  Result<Fitted> with_alive(uint64_t bytes) const {
    const Recomputation found = recompute_within(schedule_, bytes);
    Fitted fitted{program_, {static_cast<uint32_t>(found.order.size() - schedule_.steps.size()), found.cost / cost_}};
    fitted.program.run_in_order(found.order);
    if (kHasJoinedSteps && joins_steps_) fitted.program.join_elementwise();
    COT_TRY(fitted.program.plan(bytes_max_));
    return fitted;
  }

  // The cheapest of several: below the limit, because the planner leaves gaps, and because a lower limit now
  // and then leads the greedy search past a better choice. Null if none comes to that.
  Result<std::optional<Fitted>> within(uint64_t bytes) const {
    std::optional<Fitted> best;
    if (bytes < least_bytes(schedule_)) return best;
    auto limit = static_cast<double>(bytes);
    for (int i = 0; i < kTries; ++i, limit *= kTryStep) {
      COT_ASSIGN(Fitted fitted, with_alive(static_cast<uint64_t>(limit)));
      if (static_cast<double>(fitted.program.planned_lower_bound()) > kHopeless * static_cast<double>(bytes)) break;
      if (fitted.program.planned_bytes() > bytes) continue;
      if (!best || fitted.recomputed.share < best->recomputed.share) best = std::move(fitted);
    }
    return best;
  }

  // Whatever the limit was, so that it is a limit that does.
  Result<Fitted> least(uint64_t planned_bytes) const {
    COT_ASSIGN(Fitted best, with_alive(planned_bytes));
    const double bytes_min = kLadderStep * static_cast<double>(least_bytes(schedule_));
    for (double bytes = kLadderStep * static_cast<double>(planned_bytes); bytes > bytes_min; bytes *= kLadderStep) {
      COT_ASSIGN(Fitted fitted, with_alive(static_cast<uint64_t>(bytes)));
      if (fitted.program.planned_bytes() < best.program.planned_bytes()) best = std::move(fitted);
    }
    return best;
  }

 private:
  const Program& program_;
  StepSchedule schedule_;
  uint64_t bytes_max_;
  bool joins_steps_;
  double cost_ = 0;
};

}  // namespace

Result<Recomputed> plan_within(Program& program, std::span<const double> op_flops, uint64_t planned_bytes_max,
                               uint64_t bytes_max, bool joins_steps) {
  Program planned = program;
  if (kHasJoinedSteps && joins_steps) planned.join_elementwise();
  COT_TRY(planned.plan(bytes_max));
  // check_options() refuses limits where there are none.
  if (!kHasMemoryLimit || planned_bytes_max == 0 || planned.planned_bytes() <= planned_bytes_max) {
    program = std::move(planned);
    return Recomputed{};
  }
  const Fitting fitting(program, op_flops, bytes_max, joins_steps);
  COT_ASSIGN(std::optional<Fitted> fitted, fitting.within(planned_bytes_max));
  if (!fitted) {
    COT_ASSIGN(fitted, fitting.least(planned.planned_bytes()));
  }
  program = std::move(fitted->program);
  return fitted->recomputed;
}

}  // namespace coterie
