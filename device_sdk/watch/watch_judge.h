// WatchJudge: asks a plan's checks of the tensors of a training's steps, and keeps what they found. Its caller has the
// tensors and says when they are looked at: a Watch while a Trainer trains, a debugger where they were recorded. Pure.
//
// A step takes, in this order: begin_step; see_labels; and where it is looked at, begin_look, then before() and
// behind() each of the program's steps; end_step, unless it failed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "device_sdk/runtime/trainer.h"
#include "device_sdk/watch/series.h"
#include "device_sdk/watch/watch_hits.h"
#include "device_sdk/watch/watch_plan.h"
#include "device_sdk/watch/watched_steps.h"
#include "device_sdk/watch/watched_tensors.h"

namespace coterie {

class WatchJudge {
 public:
  // Arguments as Watch's.
  WatchJudge(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained, uint64_t steps_an_epoch,
             const TrainingSummary& from);
  WatchJudge(const WatchJudge&) = delete;
  WatchJudge& operator=(const WatchJudge&) = delete;

  void begin_step(uint64_t step) { step_ = step; }
  // Where the steps in front of this one were not seen: what the training had come to.
  void begin_step(uint64_t step, const TrainingSummary& from) {
    step_ = step;
    last_ = from;
  }
  void see_labels(std::span<const int32_t> labels);
  // `parameters`: in front of the step. `is_failed`: they are all that will be seen of them, and are judged.
  void begin_look(std::span<const float> parameters, bool is_failed);
  void before(const WatchedStep& step);
  void behind(const WatchedStep& step);
  // `summary`: behind the step; `learning_rate`: of the next one; `parameters`: behind the step, empty where it was not
  // looked at.
  void end_step(const TrainingSummary& summary, double learning_rate, std::span<const float> parameters);

  const WatchPlan& plan() const { return plan_; }
  const WatchHits& hits() const { return hits_; }
  uint64_t looks() const { return looks_; }
  // Which tensors its checks ask for.
  StepsAsked asked() const { return {model_, plan_, tensors_, tracks_finite_}; }
  bool reads_tensors() const;  // or compares weights: a look finds something
  bool reads_labels() const { return !label_counts_.empty(); }
  const WatchedCheck* idle_check() const;
  // What it may come to remember, whatever the training's length.
  uint64_t bytes_max() const;

 private:
  void look_at(const MadeTensor& made, const WatchedStep& step);
  void judge_op(const MadeTensor& made, const WatchedStep& step);
  void judge_output(const MadeTensor& made, const TensorStatistics& now);
  void judge_weights(std::span<const float> parameters, bool has_before);
  void judge_loss(const TrainingSummary& summary);
  std::span<const float> values_of(uint32_t tensor, std::span<const float> parameters) const;
  template <typename NameOf>
  void judge(size_t check, uint64_t where, const Seen& seen, const NameOf& name_of);

  const Model& model_;
  WatchPlan plan_;
  WatchedTensors tensors_;
  WatchHits hits_;
  bool compares_weights_, tracks_finite_;
  uint64_t step_ = 0, looks_ = 0;
  double rate_ = 0, rate_max_ = 0;  // of learning: of the step that runs; the largest so far
  TrainingSummary last_;
  std::vector<float> before_;                                    // parameters in front of the step
  std::vector<bool> finite_;                                     // by slot
  std::vector<uint8_t> alive_;                                   // scratch
  std::map<std::pair<size_t, uint64_t>, uint64_t> holds_since_;  // by check and tensor: the step
  std::vector<std::pair<size_t, LossWindows>> losses_;           // by check
  std::vector<std::pair<size_t, NormHistory>> norms_;
  std::vector<std::pair<size_t, LabelCounts>> label_counts_;
};

}  // namespace coterie
