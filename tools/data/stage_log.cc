#include "tools/data/stage_log.h"

namespace coterie {

double StageLog::seconds() const {
  double sum = 0;
  for (const StageTotal& total : totals_) sum += total.seconds;
  return sum;
}

void StageLog::clear() {
  totals_ = {};
  slices_.clear();
  slices_left_out_ = 0;
  inner_seconds_ = 0;
}

StageCall::StageCall(StageLog* log, DataStage stage) : log_(log), stage_(stage) {
  if (log_ == nullptr) return;
  outer_inner_seconds_ = std::exchange(log_->inner_seconds_, 0);
  begin_ = log_->now_();
}

StageCall::~StageCall() {
  if (log_ == nullptr) return;
  const double end = log_->now_();
  StageTotal& total = log_->totals_[static_cast<size_t>(stage_)];
  ++total.calls;
  total.bytes += bytes_;
  total.seconds += end - begin_ - log_->inner_seconds_;
  log_->inner_seconds_ = outer_inner_seconds_ + (end - begin_);
  if (log_->slices_.size() < StageLog::kSlicesMax) log_->slices_.push_back({stage_, begin_, end});
  else ++log_->slices_left_out_;
}

}  // namespace coterie
