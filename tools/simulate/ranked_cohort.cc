#include "tools/simulate/ranked_cohort.h"

#include <algorithm>
#include <bit>

#include "proto/messages/state_kind.h"
#include "scheduler/job/weight_share.h"
#include "tools/simulate/agreement.h"

namespace coterie {
namespace {

constexpr size_t kTotalsWords = 6;

void put(const RoundTotals& totals, std::span<uint64_t> words) {
  words[0] = totals.updates;
  words[1] = totals.weight;
  words[2] = totals.examples;
  words[3] = std::bit_cast<uint64_t>(totals.loss_sum);  // of one rank alone: all others have 0 there
  words[4] = totals.correct;
  words[5] = totals.train_ms;
}

RoundTotals totals_in(std::span<const uint64_t> words) {
  return {words[0], words[1], words[2], std::bit_cast<double>(words[3]), words[4], words[5]};
}

}  // namespace

bool RankedCohort::is_own(const CohortWork& work, size_t index) const {
  return (keeps_state(work[index].asked->plan) ? work[index].device : index) % ranks_->count() == ranks_->rank();
}

Result<RoundTotals> RankedCohort::train(const CohortWork& work, Accumulator& sum) {
  CohortWork mine;
  std::vector<size_t> places;
  for (size_t i = 0; i < work.size(); ++i) {
    if (!is_own(work, i)) continue;
    mine.push_back(work[i]);
    places.push_back(i);
  }
  const Result<RoundTotals> trained = own_->train(mine, sum);
  if (!trained && trained.error().code() == ErrorCode::cancelled) return trained;  // all processes are ended together
  COT_TRY(agree(*ranks_, trained ? Status() : Status(trained.error())));
  std::vector<uint64_t> words(work.size() * kTotalsWords);
  const std::vector<RoundTotals> own = own_->totals();
  for (size_t i = 0; i < places.size(); ++i) {
    put(own.at(i), std::span(words).subspan(places[i] * kTotalsWords, kTotalsWords));
  }
  COT_TRY(ranks_->add_up(words));
  std::vector<uint64_t> lanes(sum.lanes().begin(), sum.lanes().end());
  COT_TRY(ranks_->add_up(lanes));
  sum.clear();
  sum.merge(std::span<const uint64_t>(lanes));
  totals_.clear();
  RoundTotals all;
  for (size_t i = 0; i < work.size(); ++i) {
    totals_.push_back(totals_in(std::span(words).subspan(i * kTotalsWords, kTotalsWords)));
    all += totals_.back();
  }
  return all;
}

uint64_t RankedCohort::examples_median() const {
  std::vector<uint64_t> examples;
  for (const RoundTotals& totals : totals_) examples.push_back(totals.examples);
  return lower_median(std::move(examples));
}

}  // namespace coterie
