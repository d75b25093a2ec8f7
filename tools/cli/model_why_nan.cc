#include "tools/cli/model_why_nan.h"

#include <nlohmann/json.hpp>

#include "device_sdk/runtime/trainer.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/seen_tensors.h"
#include "tools/cli/table.h"
#include "tools/cli/training_setup.h"
#include "tools/cli/wrap.h"
#include "tools/watch/replay.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model why-nan";

std::string sentence_of(const NonFinite& found) {
  const std::string op = printable(found.op) + (found.op_kind == found.op ? "" : " (" + found.op_kind + ")");
  const std::string layer = found.layer == found.op ? "" : " of " + printable(found.layer);
  const std::string when = ", in step " + std::to_string(found.step) + ", " + std::string(to_string(found.phase));
  switch (found.cause) {
    case NonFiniteCause::op: return op + layer + " made the first value that is not finite" + when;
    case NonFiniteCause::data: return "the data have a value that is not finite; " + op + " read it first" + when;
    case NonFiniteCause::state:
      return "there was a value that is not finite before step " + std::to_string(found.step) + "; " + op + layer +
             " read it first, " + std::string(to_string(found.phase));
  }
  return op;
}

std::string example_text(const NonFinite& found) {
  if (!found.example) return "none can be told: what the step read has no row for each example";
  const std::string number = std::to_string(*found.example);
  return found.is_example_exact ? number : number + " has the largest value that the step read";
}

std::string text_of(const NonFinite& found) {
  std::string text = sentence_of(found) + "\n\n";
  text += "step     " + printable(found.step_name) + (found.settings.empty() ? "" : "  " + printable(found.settings)) +
          "\n";
  text += "example  " + example_text(found) + "\n";
  if (found.loss_sum) text += "loss     " + std::to_string(*found.loss_sum) + ", the sum over the batch so far\n";
  return text + "\n" + seen_table(found.tensors);
}

nlohmann::json json_of(const SeenTensor& tensor) {
  const TensorStatistics& of = tensor.statistics;
  return {{"tensor", tensor.what},
          {"type", tensor.type},
          {"shape", tensor.shape},
          {"is_made", tensor.is_made},
          {"elements", of.count},
          {"min", of.min},
          {"max", of.max},
          {"mean", of.mean()},
          {"magnitude_mean", of.magnitude_mean()},
          {"zeros", of.zeros},
          {"nan", of.nan},
          {"positive_infinite", of.positive_infinite},
          {"negative_infinite", of.negative_infinite}};
}

nlohmann::json json_of(const Replay& replay) {
  nlohmann::json answer = {
      {"first_step", replay.first_step}, {"steps", replay.steps}, {"skipped", replay.skipped}, {"found", nullptr}};
  if (!replay.found) return answer;
  const NonFinite& found = *replay.found;
  nlohmann::json tensors = nlohmann::json::array();
  for (const SeenTensor& tensor : found.tensors) tensors.push_back(json_of(tensor));
  answer["found"] = {{"cause", to_string(found.cause)},
                     {"step", found.step},
                     {"phase", to_string(found.phase)},
                     {"op", found.op},
                     {"kind", found.op_kind},
                     {"layer", found.layer},
                     {"program_step", found.step_name},
                     {"settings", found.settings},
                     {"example", nullptr},
                     {"example_is_exact", found.is_example_exact},
                     {"batch", found.examples},
                     {"tensors", tensors}};
  if (found.example) answer["found"]["example"] = *found.example;
  return answer;
}

std::string finite_text(const Replay& replay) {
  if (replay.steps == 0) {
    return wrapped("nothing was looked at: the checkpoint is of step " + std::to_string(replay.first_step) +
                       ", where this training ends. Take one from before, or ask for more --epochs",
                   80, 2) +
           "\n";
  }
  std::string text = "all values of " + counted(replay.steps, "step") + " are finite, from step " +
                     std::to_string(replay.first_step) + " to the end";
  if (replay.skipped > 0) text += "; loss scaling skipped " + format_count(replay.skipped) + " of them";
  return text + "\n";
}

}  // namespace

ExitCode explain_non_finite(const TrainCommand& command) {
  const Result<Model> body = body_of(command);
  if (!body) return fail_on_input(kCommand, body.error());
  Result<LocalData> data = open_data(command.data, *body, nullptr, command.training.loss.ignore_label);
  if (!data) return fail_on_input(kCommand, data.error());
  const Result<Model> model = with_companions(command, *body);
  if (!model) return fail_on_input(kCommand, model.error());
  Result<TrainOptions> options = options_for(command, *model, *data);
  if (!options) return fail_on_input(kCommand, options.error());
  options->joins_steps = false;
  Result<Trainer> trainer = Trainer::create(*model, *options, data->examples);
  if (!trainer) return fail_on_input(kCommand, trainer.error());
  if (!command.checkpoint.empty()) {
    const Status restored = trainer->restore_checkpoint(command.checkpoint);
    if (!restored) return fail_on_input(kCommand, restored.error().with_context(command.checkpoint));
  }
  const Result<Replay> replay =
      replay_to_non_finite(*model, *options, data->examples, *trainer, [] { return Interrupt::requested(); });
  if (!replay) {
    print_error(kCommand, replay.error());
    return exit_code_of(replay.error().code());
  }
  if (command.as_json) print_json(json_of(*replay));
  else print_text(replay->found ? text_of(*replay->found) : finite_text(*replay));
  return replay->found ? ExitCode::failure : ExitCode::ok;
}

}  // namespace coterie
