#include "device_sdk/watch/watch.h"

#include <map>
#include <utility>

#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/trainer.h"
#include "device_sdk/watch/step_view.h"
#include "device_sdk/watch/watch_judge.h"
#include "device_sdk/watch/watched_steps.h"

namespace coterie {
namespace {

// A watched step of a phase (watched_steps.h), of which a program has a few for each op, and a model two programs.
constexpr uint64_t kStepBytes = 512;
constexpr uint64_t kStepsAnOp = 2 * 4;

}  // namespace

class Watch::Machine {
 public:
  Machine(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained, uint64_t steps_an_epoch,
          const TrainingSummary& from)
      : model_(model),
        is_trained_(is_trained),
        steps_an_epoch_(steps_an_epoch),
        judge_(model, std::move(plan), is_trained, steps_an_epoch, from),
        reads_tensors_(judge_.reads_tensors()) {}

  void begin(const BatchMoment& moment);
  void run(const Program& program, const Arena& arena, Phase phase, const StepContext& context);
  void end_step(const Trainer& trainer);
  bool look_again();
  std::unique_ptr<Machine> restarted(const TrainingSummary& from) const {
    return std::make_unique<Machine>(model_, judge_.plan(), is_trained_, steps_an_epoch_, from);
  }
  const WatchJudge& judge() const { return judge_; }
  uint64_t bytes_max() const { return judge_.bytes_max() + model_.graph().ops.size() * kStepsAnOp * kStepBytes; }

 private:
  using Steps = std::vector<WatchedStep>;

  const Steps& steps_of(const Program& program, const Arena& arena, Phase phase);
  void see_labels(const Program& program, const Arena& arena);

  const Model& model_;
  std::vector<bool> is_trained_;
  uint64_t steps_an_epoch_;
  WatchJudge judge_;
  bool reads_tensors_;
  uint64_t step_ = 0;
  bool is_look_ = false, is_first_batch_ = false;
  bool is_again_ = false;  // a step that failed, run once more to be looked at
  std::map<std::pair<const Program*, Phase>, Steps> steps_;
  std::map<const Program*, std::span<const int32_t>> labels_;
};

void Watch::Machine::begin(const BatchMoment& moment) {
  is_first_batch_ = judge_.looks() == 0 || moment.step != step_ || !is_look_;
  step_ = moment.step;
  judge_.begin_step(step_);
  const WatchPlan& plan = judge_.plan();
  is_look_ = reads_tensors_ && (is_again_ || step_ % plan.every == plan.first);
}

bool Watch::Machine::look_again() {
  if (!reads_tensors_ || is_look_ || is_again_) return false;
  is_again_ = true;
  return true;
}

void Watch::Machine::run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) {
  if (phase == Phase::forward && judge_.reads_labels() && !is_again_) see_labels(program, arena);
  if (phase == Phase::forward && is_look_ && is_first_batch_) {
    judge_.begin_look(arena.region(Region::parameters), is_again_);
  }
  if (!is_look_ || (!is_first_batch_ && phase != Phase::update)) return program.run(phase, context);
  const Steps& steps = steps_of(program, arena, phase);
  for (size_t i = 0; i < steps.size(); ++i) {
    judge_.before(steps[i]);
    program.run_step(phase, i, context);
    judge_.behind(steps[i]);
  }
}

void Watch::Machine::end_step(const Trainer& trainer) {
  judge_.end_step(trainer.summary(), trainer.learning_rate(),
                  is_look_ ? trainer.parameters() : std::span<const float>());
  is_again_ = false;
}

void Watch::Machine::see_labels(const Program& program, const Arena& arena) {
  const auto [entry, is_new] = labels_.try_emplace(&program);
  if (is_new) {
    for (const StepView& view : view_steps(program, arena, Phase::forward)) {
      for (size_t i = 0; i < view.data.size(); ++i) {
        const BufferContent& content = view.info.operands[i].content;
        if (content.role != BufferRole::target || content.type != ElementType::int32) continue;
        // The first of several heads is of the model's own output, whose classes are counted.
        if (!entry->second.empty()) continue;
        entry->second = {static_cast<const int32_t*>(view.data[i]), content.elements};
      }
    }
  }
  if (!entry->second.empty()) judge_.see_labels(entry->second);
}

const Watch::Machine::Steps& Watch::Machine::steps_of(const Program& program, const Arena& arena, Phase phase) {
  const auto [entry, is_new] = steps_.try_emplace({&program, phase});
  if (is_new) entry->second = find_watched_steps(program, arena, phase, judge_.asked());
  return entry->second;
}

Watch::Watch(const Model& model, WatchPlan plan, const std::vector<bool>& is_trained, uint64_t steps_an_epoch,
             const TrainingSummary& from)
    : machine_(std::make_unique<Machine>(model, std::move(plan), is_trained, steps_an_epoch, from)) {}

Watch::~Watch() = default;

void Watch::end_step(const Trainer& trainer) { machine_->end_step(trainer); }

bool Watch::look_again() { return machine_->look_again(); }

void Watch::restart(const TrainingSummary& from) { machine_ = machine_->restarted(from); }

const WatchPlan& Watch::plan() const { return machine_->judge().plan(); }

uint64_t Watch::bytes_max() const { return machine_->bytes_max(); }

const WatchHits& Watch::hits() const { return machine_->judge().hits(); }

uint64_t Watch::looks() const { return machine_->judge().looks(); }

const WatchedCheck* Watch::idle_check() const { return machine_->judge().idle_check(); }

void Watch::begin(const BatchMoment& moment) { machine_->begin(moment); }

void Watch::run(const Program& program, const Arena& arena, Phase phase, const StepContext& context) {
  machine_->run(program, arena, phase, context);
}

}  // namespace coterie
