#include "tools/cli/model_fine_tune.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/fine_tune.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/training_setup.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model fine-tune";

std::string text_of(const Evaluation& evaluation, TargetKind target) {
  const std::string loss = "loss " + format_digits(evaluation.loss_mean);
  return target == TargetKind::labels ? "accuracy " + format_percent(evaluation.accuracy) + ", " + loss : loss;
}

nlohmann::json json_of(const Evaluation& evaluation) {
  return {{"accuracy", evaluation.accuracy}, {"loss", evaluation.loss_mean}};
}

void report(const FineTuned& tuned, const TrainCommand& command, TargetKind target) {
  if (command.as_json) {
    std::printf("%s\n", nlohmann::json({{"schema", "coterie.fine_tune.v1"},
                                        {"is_better", tuned.is_better},
                                        {"held_out", tuned.before.examples},
                                        {"before", json_of(tuned.before)},
                                        {"after", json_of(tuned.after)}})
                            .dump()
                            .c_str());
    return;
  }
  std::printf("On %s of this machine that it was not trained on:\n  before  %s\n  after   %s\n%s\n",
              counted(tuned.before.examples, "example").c_str(), text_of(tuned.before, target).c_str(),
              text_of(tuned.after, target).c_str(),
              tuned.is_better ? (command.to + " has it").c_str() : "It is no better: nothing is written");
}

}  // namespace

ExitCode fine_tune_model(const TrainCommand& command, float held_out_share) {
  const Result<Model> model = body_of(command);
  if (!model) return fail_on_input(kCommand, model.error());
  Result<LocalData> data = open_data(command.data, *model, nullptr, command.training.loss.ignore_label);
  if (!data) return fail_on_input(kCommand, data.error());
  const Result<TrainOptions> options = options_for(command, *model, *data);
  if (!options) return fail_on_input(kCommand, options.error());
  InterruptibleSource examples(data->examples);
  const Result<FineTuned> tuned = fine_tune(*model, *options, held_out_share, examples, &go_on_unless_interrupted);
  if (!tuned) return fail_on_input(kCommand, tuned.error());
  if (tuned->is_better) {
    const Status written = os::write_file_atomically(command.to, tuned->model.file());
    if (!written) return fail_on_output(kCommand, written.error());
  }
  report(*tuned, command, options->loss.target);
  return tuned->is_better ? ExitCode::ok : ExitCode::failure;
}

}  // namespace coterie
