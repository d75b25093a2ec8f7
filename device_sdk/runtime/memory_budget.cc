#include "device_sdk/runtime/memory_budget.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/text/concat.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {
namespace {

// What halving the micro-batch costs, as a share of a step: kernels see fewer rows, and gradients are added
// up.
constexpr double kHalvingShare = 0.04;

bool takes_batch_statistics(const Model& model, const TrainOptions& options) {
  const auto& ops = model.graph().ops;
  return !options.freeze_statistics && std::any_of(ops.begin(), ops.end(), [](const OpInfo& op) {
    return op.kind == OpKind::batch_norm && !std::get<NormAttributes>(op.attributes).is_frozen;
  });
}

struct Tried {
  uint64_t least = 0;  // bytes
  std::optional<MemoryFit> fit;
};

Result<Tried> attempt(const Model& model, TrainOptions options, uint64_t examples, uint64_t bytes) {
  options.planned_bytes_max = 0;
  COT_ASSIGN(const TrainingMemory plain, Trainer::plan(model, options, examples));
  MemoryFit fit{.micro_batch_size = options.micro_batch_size};
  if (plain.bytes() <= bytes) return Tried{plain.bytes(), fit};
  TrainingMemory frugal = plain;
  if (plain.prepared_bytes > 0) {
    options.planned_bytes_max = UINT64_MAX;  // keeps no weights prepared
    COT_ASSIGN(frugal, Trainer::plan(model, options, examples));
  }
  const uint64_t others = frugal.bytes() - frugal.planned_bytes;
  options.planned_bytes_max = bytes > others ? bytes - others : 1;
  COT_ASSIGN(const TrainingMemory fitted, Trainer::plan(model, options, examples));
  if (fitted.bytes() > bytes) return Tried{fitted.bytes(), std::nullopt};
  fit.planned_bytes_max = options.planned_bytes_max;
  fit.recomputed_steps = fitted.recomputed_steps;
  fit.recomputed_share = fitted.recomputed_share;
  return Tried{fitted.bytes(), fit};
}

}  // namespace

Result<MemoryFit> fit_training_within(const Model& model, const TrainOptions& options, uint64_t examples,
                                      uint64_t bytes) {
  COT_TRY(check_options(options));
  uint64_t least = UINT64_MAX;
  std::optional<MemoryFit> best;
  double best_cost = 0;
  TrainOptions tried = options;
  tried.arena_bytes_max = limits::kArenaBytesMax;  // what does not fit says how much it is
  const bool prefers_whole = takes_batch_statistics(model, options);
  const uint32_t whole = std::max(1u, options.batch_size);
  // Such heads are computed a whole batch at a time (trainer.cc).
  const bool takes_whole =
      options.micro_batch_size == 0 && !options.loss.heads.empty() && options.loss.ignore_label.has_value();
  for (uint32_t size = whole; size > 0; --size) {
    if (whole % size != 0 || (options.micro_batch_size != 0 && size != options.micro_batch_size)) continue;
    const double halvings = kHalvingShare * std::log2(static_cast<double>(whole) / size);
    if (best && (best_cost <= halvings || prefers_whole)) break;  // those that follow cost more
    if (takes_whole && size < whole) break;
    tried.micro_batch_size = size;
    const Result<Tried> made = attempt(model, tried, examples, bytes);
    if (!made && (made.error().code() != ErrorCode::too_large || size == 1)) return made.error();
    if (!made) continue;
    least = std::min(least, made->least);
    if (!made->fit) continue;
    const double cost = made->fit->recomputed_share + halvings;
    if (best && best_cost <= cost) continue;
    best = made->fit;
    best_cost = cost;
  }
  if (best) return *best;
  return Error(ErrorCode::too_large,
               concat({"training: ", bytes, " bytes are too few; with these options it needs at least ", least}));
}

}  // namespace coterie
