#include "tools/cli/model_delegate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/predictor.h"
#include "tools/cli/by_turns.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_delegate_training.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/delegate/open_delegate.h"
#include "tools/delegate/report_text.h"
#include "tools/model/model_output.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model delegate";

// Batches of predictions, or steps of a training.
struct Measured {
  DelegateReport report;
  double first_seconds = 0;  // the delegate's first, with its check
  SecondsByTurns seconds;    // of one behind it
};

Result<Measured> measure(const Model& model, Delegate& delegate, const ModelDelegateOptions& options) {
  if (options.trains) {
    COT_ASSIGN(MeasuredTraining training, measure_delegated_training(model, delegate, options));
    return Measured{std::move(training.report), training.first_seconds, training.seconds};
  }
  COT_ASSIGN(DelegatedPredictor delegated,
             DelegatedPredictor::create(model, delegate,
                                        {.batch_size = options.batch_size,
                                         .threads = options.threads,
                                         .takes_whatever_cost = options.takes_whatever_cost}));
  COT_ASSIGN(Predictor own, Predictor::create(model, options.batch_size, limits::kArenaBytesMax, options.threads));
  const std::vector<Words> words = random_words(model, options.batch_size);
  const std::vector<std::span<const float>> inputs(words.begin(), words.end());
  std::vector<float> output(options.batch_size * elements(model.output_shape()));
  const auto run_delegated = [&] { return delegated.run(inputs, options.batch_size, output); };
  Measured measured;
  COT_ASSIGN(measured.first_seconds, seconds_of(run_delegated));
  COT_ASSIGN(measured.seconds,
             seconds_by_turns(
                 options.steps, [&] { return own.run(inputs, options.batch_size, output); }, run_delegated));
  measured.report = delegated.report();
  return measured;
}

std::string milliseconds(double seconds) { return format_fixed(seconds * 1e3, 3) + " ms"; }

std::string text_of(const ModelDelegateOptions& options, const Model& model, const Measured& measured) {
  const char* const what = options.trains ? "a step of " : "a batch of ";
  return delegate_text(model, measured.report) + "\n" + what + std::to_string(options.batch_size) + ": " +
         milliseconds(measured.seconds.own) + " by our kernels, " + milliseconds(measured.seconds.other) + " with " +
         measured.report.traits.name + " (medians of " + std::to_string(options.steps) + ")\nits first one " +
         milliseconds(measured.first_seconds) + ", with the check\n";
}

nlohmann::json json_of(const ModelDelegateOptions& options, const Model& model, const Measured& measured) {
  nlohmann::json json = delegate_json(model, measured.report);
  json["trains"] = options.trains;
  json["batch"] = options.batch_size;
  json["first_seconds"] = measured.first_seconds;
  json["own_seconds"] = measured.seconds.own;
  json["delegate_seconds"] = measured.seconds.other;
  return json;
}

}  // namespace

ExitCode delegate_model(const ModelDelegateOptions& options) {
  const Result<Model> model = open_model(options.model);
  if (!model) return fail_on_input(kCommand, model.error());
  const Result<std::shared_ptr<Delegate>> delegate = open_delegate(options.to);
  if (!delegate) return fail_on_input(kCommand, delegate.error());
  return delegate_opened_model(options, *model, **delegate);
}

ExitCode delegate_opened_model(const ModelDelegateOptions& options, const Model& model, Delegate& delegate) {
  const Result<Measured> measured = measure(model, delegate, options);
  if (!measured) return fail_on_input(kCommand, measured.error().with_context(options.model));
  if (options.as_json) print_json(json_of(options, model, *measured));
  else print_text(text_of(options, model, *measured));
  const auto is_refused = [](const DelegateReport::Part& part) { return !part.refusal.empty(); };
  return std::ranges::any_of(measured->report.parts, is_refused) ? ExitCode::failure : ExitCode::ok;
}

}  // namespace coterie
