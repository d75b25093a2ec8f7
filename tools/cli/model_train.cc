#include "tools/cli/model_train.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/temporary_file.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/watch/open_watch.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/head_report.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/terminal.h"
#include "tools/cli/training_delegate.h"
#include "tools/cli/training_progress.h"
#include "tools/cli/training_setup.h"
#include "tools/cli/watch_report.h"
#include "tools/cli/wrap.h"
#include "tools/debug/training_record.h"
#include "tools/mlflow/mlflow_run.h"
#include "tools/mlflow/run_params.h"
#include "tools/model/measure.h"
#include "tools/tensorboard/scalar_log.h"
#include "train_kernels/bfloat16_kernels.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model train";

Status check_checkpoint(const TrainCommand& command) {
  if (command.checkpoint.empty() || command.resumes || !os::exists(command.checkpoint)) return {};
  return Error(ErrorCode::conflict,
               command.checkpoint + " is there already: --resume goes on from it; remove it to begin anew");
}

// Not only when all the training is done.
Status check_output(const TrainCommand& command) {
  const Result<os::AtomicFile> made = os::AtomicFile::create(command.to);
  if (!made) {
    return Error(made.error().code(), "the trained model cannot be written to " + command.to +
                                          " (-o FILE names another place): " + made.error().message());
  }
  if (command.watch_report.empty()) return {};
  const Result<os::AtomicFile> report = os::AtomicFile::create(command.watch_report);
  if (report) return {};
  return Error(report.error().code(),
               "what the watch finds cannot be written to " + command.watch_report + ": " + report.error().message());
}

// Null where nothing is to be recorded.
Result<std::unique_ptr<TrainingRecord>> recording_for(const TrainCommand& command, const Model& model,
                                                      const TrainOptions& options, uint64_t examples) {
  if (command.record.empty()) return std::unique_ptr<TrainingRecord>();
  COT_ASSIGN(std::vector<bool> is_trained, trainable_tensors(model.graph(), options));
  const uint64_t steps_an_epoch = (examples + options.batch_size - 1) / options.batch_size;
  const uint64_t bytes_max = command.record_bytes_max == 0 ? kRecordBytesMax : command.record_bytes_max;
  COT_ASSIGN(RecordFolder folder, RecordFolder::create(command.record, model, is_trained, steps_an_epoch, bytes_max));
  return std::make_unique<TrainingRecord>(model, is_trained, std::move(folder), command.record_every);
}

// What --memory-budget and --storage led to.
std::string chosen(const TrainOptions& options, const TrainingMemory& memory) {
  std::string text;
  if (options.micro_batch_size > 0 && options.micro_batch_size < options.batch_size) {
    text += ", " + std::to_string(options.micro_batch_size) + " examples at a time";
  }
  if (memory.recomputed_steps > 0) {
    text += ", " + counted(memory.recomputed_steps, "step") + " of backward computed again (about +" +
            format_percent(memory.recomputed_share) + " time)";
  }
  if (memory.narrowed_tensors > 0) {
    text += ", " + counted(memory.narrowed_tensors, "value") + " held as bfloat16, which saves " +
            format_bytes(memory.narrowed_bytes_saved);
  } else if (options.storage == Storage::bfloat16) {
    text += ", nothing held as bfloat16";
  }
  if (options.storage == Storage::bfloat16 && kernels::bfloat16_kernels() != nullptr) {
    text += ", products computed in bfloat16";
  }
  return text;
}

// The file's name stays whole, whatever is in it.
std::string trained_text(const std::string& what, const std::string& file) {
  constexpr int kColumns = 80, kIndent = 4;
  const std::string where = "written to " + file;
  const std::string line = what + "; " + where;
  if (width_of(line) <= kColumns) return line + "\n";
  return wrapped(what + ";", kColumns, kIndent) + "\n" + std::string(kIndent, ' ') + where + "\n";
}

// The way of one training: from its first step, or where its checkpoint was taken, to the last or the interruption.
class Training {
 public:
  // `watch` and `recording` may be null.
  Training(const TrainCommand& command, const TrainOptions& options, Trainer& trainer, uint64_t examples,
           ScalarLog& log, Watch* watch, TrainingRecord* recording)
      : command_(command),
        trainer_(trainer),
        log_(log),
        watch_(watch),
        recording_(recording),
        steps_an_epoch_((examples + options.batch_size - 1) / options.batch_size),
        validation_told_(trainer.validation().last_step),
        progress_(trainer, trainer.summary().steps / steps_an_epoch_ + 1, options.epochs,
                  loss_of_own_output(options.loss).target == TargetKind::labels, command.is_quiet,
                  os::monotonic_now()) {}

  // cancelled after an interruption.
  Status run() {
    while (!trainer_.finished()) {
      if (Interrupt::requested()) return interrupted();
      const uint64_t before = trainer_.summary().steps;
      if (const Status stepped = recording_ != nullptr ? recording_->step(trainer_) : trainer_.step(watch_); !stepped) {
        progress_.clear();
        // It fails again, and is looked at this time: a training diverges between two looks.
        if (watch_ != nullptr && watch_->look_again()) static_cast<void>(trainer_.step(watch_));
        return stepped;
      }
      const uint64_t steps = trainer_.summary().steps;
      if (steps == before) {  // it looked at examples that are held out
        COT_TRY(tell_validation());
        continue;
      }
      if (watch_ != nullptr) watch_->end_step(trainer_);
      const bool ends_epoch = steps % steps_an_epoch_ == 0, is_last = steps == trainer_.steps_in_all();
      progress_.after_step(ends_epoch || is_last, os::monotonic_now());
      if (ends_epoch || is_last) COT_TRY(log_epoch());
      if (ends_epoch || (command_.checkpoint_steps > 0 && steps % command_.checkpoint_steps == 0)) COT_TRY(save());
    }
    return {};
  }

  const TrainingMoment& moment() const { return progress_.moment(); }

 private:
  // A step of the event file is a step of the training: epochs of two batch sizes are side by side.
  Status log_epoch() {
    const TrainingMoment& moment = progress_.moment();
    log_.note("train/loss", moment.loss);
    log_.note("train/accuracy", moment.accuracy);
    log_.note("train/samples_per_second", moment.examples_per_second);
    return log_.add(moment.steps);
  }

  // The loss that decides when the training ends, and which parameters are kept.
  Status tell_validation() {
    const ValidationSummary validation = trainer_.validation();
    if (validation.last_step == validation_told_) return {};  // there are more of them
    validation_told_ = validation.last_step;
    progress_.tell(validation_line(trainer_.validation_loss(), validation));
    log_.note("validation/loss", trainer_.validation_loss());
    return log_.add(validation.last_step);
  }

  Status save() const {
    if (command_.checkpoint.empty()) return {};
    return trainer_.save_checkpoint(command_.checkpoint);
  }

  Status interrupted() {
    progress_.clear();
    COT_TRY(save());
    const std::string after = "interrupted after step " + std::to_string(trainer_.summary().steps) + "; ";
    return Error(
        ErrorCode::cancelled,
        after + (command_.checkpoint.empty() ? "nothing is kept (--checkpoint FILE would have kept it)"
                                             : "the same command with --resume goes on from " + command_.checkpoint));
  }

  const TrainCommand& command_;
  Trainer& trainer_;
  ScalarLog& log_;
  Watch* watch_;
  TrainingRecord* recording_;
  uint64_t steps_an_epoch_;
  uint64_t validation_told_;  // after so many steps
  TrainingProgress progress_;
};

Result<std::optional<Measured>> evaluate_held_out(const TrainCommand& command, Bytes file, LocalData& data,
                                                  const LossSettings& loss) {
  COT_TRY(os::write_file_atomically(command.to, file));
  if (!data.held_out) return std::optional<Measured>();
  COT_ASSIGN(const Model trained, Model::load(std::move(file)));
  InterruptibleSource examples(*data.held_out);
  COT_ASSIGN(std::optional<AugmentedSource> images, judged(examples, trained, loss, command.training.augment));
  ExampleSource& read = images ? static_cast<ExampleSource&>(*images) : examples;
  COT_ASSIGN(Measured measured, measure(trained, read, loss, {}, command.training.threads));
  return std::optional(std::move(measured));
}

bool is_classified(const LossSettings& loss) { return loss_of_own_output(loss).target == TargetKind::labels; }

Status log_held_out(ScalarLog& log, const std::optional<Measured>& held_out, const TrainOptions& options,
                    uint64_t steps) {
  if (!held_out) return {};
  log.note("evaluation/loss", held_out->evaluation.loss_mean);
  if (is_classified(options.loss)) log.note("evaluation/accuracy", held_out->evaluation.accuracy);
  for (const HeadResult& head : held_out->heads) log.note("evaluation/loss/" + head.output, head.loss_mean);
  return log.add(steps);
}

MlflowParams params_of(const TrainCommand& command, const TrainOptions& options) {
  MlflowParams params = {{"model", command.model}, {"data", command.data}, {"seed", std::to_string(options.seed)}};
  add_training_params(params, options.optimizer, options.batch_size, options.epochs);
  return params;
}

// Null where nothing is to be watched.
Result<std::unique_ptr<Watch>> watch_for(const TrainCommand& command, const Model& model, const TrainOptions& options,
                                         uint64_t examples, const Trainer& trainer) {
  if (command.watch.empty()) return std::unique_ptr<Watch>();
  Result<std::unique_ptr<Watch>> watch = open_watch(
      command.watch, {.model = model, .options = options, .examples = examples, .has_lora = command.lora.has_value()},
      trainer.summary());
  if (!watch) return watch.error().with_context("--watch");
  return watch;
}

// Not "held out": that is the part which a data set brings to judge a model by, and it decides nothing.
std::string validation_text(const ValidationSummary& validation) {
  const std::string of = "the loss of " + counted(validation.examples, "validation example");
  if (validation.best_step == 0) return of + " was never finite; the last parameters are kept\n";
  return (validation.has_stopped ? "stopped early: " : "") + of + " was lowest, " +
         format_fixed(validation.best_loss, 4) + ",\n  after step " + format_count(validation.best_step) +
         ", whose parameters are kept\n";
}

void report(const TrainCommand& command, const TrainOptions& options, const Trainer& trainer,
            const TrainingMoment& last, const std::optional<Measured>& held_out, const Watch* watch,
            const TrainingDelegate* delegate) {
  const TrainingSummary summary = trainer.summary();
  const TrainingMemory memory = trainer.memory();
  const ValidationSummary validation = trainer.validation();
  const bool has_accuracy = is_classified(options.loss);
  const std::vector<HeadResult> heads = trainer.heads();
  if (command.as_json) {
    nlohmann::json answer = {{"model", command.to},
                             {"steps", summary.steps},
                             {"examples", summary.examples},
                             {"loss", last.loss},
                             {"samples_per_second", last.examples_per_second},
                             {"micro_batch", options.micro_batch_size},
                             {"recomputed_steps", trainer.memory().recomputed_steps},
                             {"recomputed_share", trainer.memory().recomputed_share},
                             {"narrowed_tensors", memory.narrowed_tensors},
                             {"narrowed_bytes_saved", memory.narrowed_bytes_saved},
                             {"memory_bytes", memory.bytes()}};
    if (options.early_stopping) {
      answer["validation"] = {{"examples", validation.examples},
                              {"best_step", validation.best_step},
                              {"best_loss", validation.best_loss},
                              {"has_stopped", validation.has_stopped}};
    }
    if (has_accuracy) answer["accuracy"] = last.accuracy;
    if (!heads.empty()) answer["heads"] = heads_json(heads);
    if (held_out) {
      const Evaluation& evaluation = held_out->evaluation;
      answer["held_out"] = {{"examples", evaluation.examples}, {"loss", evaluation.loss_mean}};
      if (has_accuracy) answer["held_out"]["accuracy"] = evaluation.accuracy;
      if (!heads.empty()) answer["held_out"]["heads"] = heads_json(held_out->heads);
    }
    if (watch != nullptr) answer["watch"] = watch_json(*watch);
    if (delegate != nullptr) answer["delegate"] = delegate->json();
    print_json(answer);
    return;
  }
  std::string text = trained_text("trained for " + counted(summary.steps, "step") + ", " +
                                      format_bytes(memory.bytes()) + " of memory" + chosen(options, trainer.memory()),
                                  command.to) +
                     (options.early_stopping ? validation_text(validation) : "");
  if (!held_out && !heads.empty()) text += "\n" + heads_text(heads);
  if (held_out) {
    const Evaluation& evaluation = held_out->evaluation;
    text += "held out: " + (has_accuracy ? "accuracy " + format_percent(evaluation.accuracy) + ", " : std::string()) +
            "loss " + format_fixed(evaluation.loss_mean, 4) + " on " + format_count(evaluation.examples) +
            " examples\n";
    if (!heads.empty()) text += "\n" + heads_text(held_out->heads);
  }
  if (watch != nullptr) text += watch_text(*watch);
  if (delegate != nullptr) text += "\n" + delegate->text();
  print_text(text);
}

std::string recorded_text(const std::string& path, const RecordFolder& folder) {
  return counted(folder.steps(), "step") + " recorded in " + printable(path) +
         (folder.dropped() == 0 ? "" : "; " + format_count(folder.dropped()) + " older ones had no room") +
         "; `coterie model debug` opens it\n";
}

// What was found before it failed may say why.
void print_failed(const TrainCommand& command, const Trainer& trainer, const Watch& watch, const Error& error) {
  if (command.as_json) {
    print_json({{"error", error.message()}, {"steps", trainer.summary().steps}, {"watch", watch_json(watch)}});
    return;
  }
  const bool says_nothing = watch.hits().hits().empty() && error.code() != ErrorCode::cancelled;
  print_text(
      watch_text(watch) +
      (says_nothing ? "`coterie model why-nan` with the same options names the first op that went wrong\n" : ""));
}

}  // namespace

std::string trained_name(const std::string& model) {
  const size_t name = model.find_last_of('/') + 1;  // 0 if there is none
  const size_t dot = model.find_last_of('.');
  const size_t end = dot == std::string::npos || dot <= name ? model.size() : dot;  // ".net" is a name, no ending
  return model.substr(0, end) + ".trained" + model.substr(end);
}

ExitCode train_model(const TrainCommand& command) {
  if (const Status distinct = distinct_files(
          {{"FILE", command.model},
           {"--data", command.data},
           {"--watch", command.watch},
           {"--checkpoint-key", command.checkpoint_key}},
          {{"-o", command.to}, {"--checkpoint", command.checkpoint}, {"--watch-report", command.watch_report}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  if (const Status free = check_checkpoint(command); !free) return fail_on_input(kCommand, free.error());
  const Result<Model> model = body_of(command);
  if (!model) return fail_on_input(kCommand, model.error());
  Result<LocalData> data = open_data(command.data, *model, nullptr, command.training.loss.ignore_label);
  if (!data) return fail_on_input(kCommand, data.error());
  const Result<Model> trained = with_companions(command, *model);
  if (!trained) return fail_on_input(kCommand, trained.error());
  Result<TrainOptions> options = options_for(command, *trained, *data);
  if (!options) return fail_on_input(kCommand, options.error());
  options->joins_steps = command.record.empty();
  const Result<std::unique_ptr<TrainingDelegate>> delegate = TrainingDelegate::open(command.delegate, *trained);
  if (!delegate) return fail_on_input(kCommand, delegate.error());
  Result<Trainer> trainer = *delegate ? Trainer::create(*trained, *options, data->examples, (*delegate)->parts())
                                      : Trainer::create(*trained, *options, data->examples);
  if (!trainer) return fail_on_input(kCommand, trainer.error());
  const uint64_t trained_on = data->examples.size() - trainer->validation().examples;
  if (!command.checkpoint.empty()) os::remove_abandoned(command.checkpoint);  // also where there is none to go on from
  if (command.resumes && os::exists(command.checkpoint)) {
    const Status restored = trainer->restore_checkpoint(command.checkpoint);
    if (!restored) return fail_on_input(kCommand, restored.error().with_context(command.checkpoint));
  }
  const Result<std::unique_ptr<Watch>> watch = watch_for(command, *trained, *options, trained_on, *trainer);
  if (!watch) return fail_on_input(kCommand, watch.error());
  if (const Status writable = check_output(command); !writable) return fail_on_output(kCommand, writable.error());
  const Result<std::unique_ptr<TrainingRecord>> recording = recording_for(command, *trained, *options, trained_on);
  if (!recording) return fail_on_output(kCommand, recording.error());
  Result<ScalarLog> log = ScalarLog::create(command.log_dir);
  if (!log) return fail_on_output(kCommand, log.error());
  const Result<std::shared_ptr<ScalarSink>> mlflow =
      start_mlflow(command.mlflow, std::string(kCommand), params_of(command, *options));
  if (!mlflow) return fail_on_input(kCommand, mlflow.error());
  log->tell(*mlflow);
  Training training(command, *options, *trainer, trained_on, *log, watch->get(), recording->get());
  const Status ran = training.run();
  if (*watch && !command.watch_report.empty()) {
    if (const Status written = write_watch_report(**watch, command.watch_report); !written) {
      return fail_on_output(kCommand, written.error());
    }
  }
  if (*recording && !command.as_json) print_text(recorded_text(command.record, (*recording)->folder()));
  if (!ran) {
    if (*watch) print_failed(command, *trainer, **watch, ran.error());
    print_error(kCommand, ran.error());
    return exit_code_of(ran.error().code());
  }
  Bytes file = command.lora ? model->file_with(merge_lora(*model, *command.lora, *trained, trainer->parameters()))
                            : model->file_with(trainer->parameters());
  const Result<std::optional<Measured>> held_out = evaluate_held_out(command, std::move(file), *data, options->loss);
  if (!held_out) return fail_on_output(kCommand, held_out.error());
  if (const Status logged = log_held_out(*log, *held_out, *options, trainer->summary().steps); !logged) {
    return fail_on_output(kCommand, logged.error());
  }
  report(command, *options, *trainer, training.moment(), *held_out, watch->get(), delegate->get());
  log->leave(command.to);
  log->finished();
  return ExitCode::ok;
}

}  // namespace coterie
