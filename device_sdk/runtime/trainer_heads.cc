// What the heads of a training come to, step by step.
#include <algorithm>
#include <cstring>

#include "device_sdk/runtime/head_result.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/trainer_state.h"

namespace coterie {
namespace {

// A step whose labels weigh nothing has no loss.
double mean_of(const HeadSums& head) { return head.weight > 0 ? head.sums.loss / head.weight : 0; }

}  // namespace

void TrainerState::make_heads() {
  if (!kHasHeads) return;
  heads.resize(whole.compiled.heads.size());
  step_heads.resize(heads.size());
  step_ignored.resize(heads.size());
}

void TrainerState::begin_step_of_heads() {
  if (!kHasHeads) return;
  std::ranges::fill(step_heads, HeadSums{});
  std::ranges::fill(step_ignored, 0);
}

double TrainerState::take_heads(const BatchProgram& code) {
  if (!kHasHeads) return 0;
  double losses = 0;
  for (size_t i = 0; i < heads.size(); ++i) {
    HeadSums batch;
    std::memcpy(static_cast<void*>(&batch), code.compiled.program.pointer(code.compiled.heads[i].sums), sizeof(batch));
    HeadSums& sum = step_heads[i];
    sum.sums.loss += batch.sums.loss;
    sum.sums.correct += batch.sums.correct;
    sum.weight += batch.weight;
    sum.absolute_error += batch.absolute_error;
    step_ignored[i] += code.reader.ignored_of_head(i);
    losses += batch.sums.loss;
  }
  return losses;
}

double TrainerState::count_heads(size_t batch) {
  double loss = 0;
  if (!kHasHeads) return loss;
  for (size_t i = 0; i < heads.size(); ++i) {
    const HeadSums& step_sums = step_heads[i];
    const double mean = mean_of(step_sums);
    loss += static_cast<double>(options.loss.heads[i].weight) * mean;
    heads[i].loss_sum += mean * static_cast<double>(batch);
    heads[i].absolute_error += step_sums.absolute_error;
    heads[i].correct += step_sums.sums.correct;
    heads[i].ignored += step_ignored[i];
  }
  return loss;
}

std::vector<HeadResult> Trainer::heads() const {
  const TrainerState& s = *state_;
  const double seen = static_cast<double>(std::max<uint64_t>(s.seen, 1));
  std::vector<HeadResult> results;
  for (size_t i = 0; i < s.heads.size(); ++i) {
    const HeadTotals& total = s.heads[i];
    HeadSums sums{.absolute_error = total.absolute_error};
    sums.sums.correct = total.correct;
    results.push_back(head_result(s.options.loss.heads[i], s.whole.compiled.heads[i], s.seen, total.ignored, sums,
                                  total.loss_sum / seen));
  }
  return results;
}

}  // namespace coterie
