#include "device_sdk/runtime/validation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace coterie {
namespace {

uint64_t bytes_of(uint64_t arena_bytes, uint64_t values, uint64_t held_out) {
  return arena_bytes + values * sizeof(float) + held_out * sizeof(uint32_t);
}

}  // namespace

bool observe_validation(double loss, uint64_t step, ValidationProgress& progress) {
  progress.step = step;
  if (!std::isfinite(loss) || (progress.best_step > 0 && loss >= progress.best_loss)) {
    progress.checks_without_gain += 1;
    return false;
  }
  progress.best_step = step;
  progress.best_loss = loss;
  progress.checks_without_gain = 0;
  return true;
}

Result<std::unique_ptr<Validation>> Validation::create(const Model& model, const TrainOptions& options,
                                                       uint32_t batch_size, ExampleSource& whole,
                                                       std::vector<uint32_t> held_out) {
  COT_ASSERT(!held_out.empty() && options.early_stopping);
  const auto batch = static_cast<uint32_t>(std::min<uint64_t>(batch_size, held_out.size()));
  COT_ASSIGN(Evaluator evaluator,
             Evaluator::create(model, options.loss, batch, options.arena_bytes_max, options.threads));
  std::unique_ptr<Validation> validation(new Validation(whole, std::move(held_out), options.early_stopping->patience,
                                                        std::move(evaluator), model.value_count()));
  COT_ASSIGN(validation->augmented_, judged(validation->part_, model, options.loss, options.augment));
  COT_TRY(validation->evaluator_.begin(model.parameters(), validation->part_.size()));  // look() does not allocate
  return validation;
}

Result<uint64_t> Validation::plan(const Model& model, const TrainOptions& options, uint32_t batch_size,
                                  uint64_t held_out) {
  const auto batch = static_cast<uint32_t>(std::min<uint64_t>(batch_size, held_out));
  COT_ASSIGN(const uint64_t arena, Evaluator::plan(model, options.loss, batch, held_out, options.threads));
  return bytes_of(arena, model.value_count(), held_out);
}

uint64_t Validation::bytes() const { return bytes_of(evaluator_.arena_bytes(), best_.size(), part_.size()); }

Status Validation::look(std::span<const float> parameters, uint64_t step) {
  if (!is_looking_) COT_TRY(evaluator_.begin(parameters, part_.size()));
  is_looking_ = false;  // where a batch fails, the next call begins anew
  ExampleSource& examples = augmented_ ? static_cast<ExampleSource&>(*augmented_) : part_;
  COT_TRY(evaluator_.next(examples));
  is_looking_ = !evaluator_.finished();
  if (is_looking_) return {};
  last_loss_ = evaluator_.evaluation().loss_mean;
  if (observe_validation(last_loss_, step, progress_)) {
    std::copy(parameters.begin(), parameters.end(), best_.begin());
  }
  return {};
}

void Validation::restore(const ValidationProgress& progress, std::span<const float> best) {
  COT_ASSERT(best.size() == (progress.best_step > 0 ? best_.size() : 0));
  progress_ = progress;
  is_looking_ = false;
  std::copy(best.begin(), best.end(), best_.begin());
}

}  // namespace coterie
