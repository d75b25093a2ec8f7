#include "tools/cli/model_delegate.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/predictor.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/delegate/open_delegate.h"
#include "tools/delegate/report_text.h"
#include "tools/model/model_output.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model delegate";

struct Measured {
  DelegateReport report;
  double first_seconds = 0;                      // the delegate's first run, with its check
  double own_seconds = 0, delegate_seconds = 0;  // of a batch, the medians
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Measurement {
 public:
  Measurement(const Model& model, const ModelDelegateOptions& options)
      : options_(options),
        words_(random_words(model, options.batch_size)),
        inputs_(words_.begin(), words_.end()),
        output_(options.batch_size * elements(model.output_shape())) {}

  template <typename AnyPredictor>
  Result<double> once(AnyPredictor& predictor) {
    const double begin = seconds_now();
    COT_TRY(predictor.run(inputs_, options_.batch_size, output_));
    return seconds_now() - begin;
  }
  // Both by turns, so that a busy machine is unkind to both.
  Status medians(Predictor& own, DelegatedPredictor& delegated, Measured& measured) {
    std::vector<double> own_times, delegate_times;
    for (uint32_t step = 0; step < options_.steps; ++step) {
      COT_TRY(go_on_unless_interrupted());
      COT_ASSIGN(own_times.emplace_back(), once(own));
      COT_ASSIGN(delegate_times.emplace_back(), once(delegated));
    }
    measured.own_seconds = median(own_times);
    measured.delegate_seconds = median(delegate_times);
    return {};
  }

 private:
  static double median(std::vector<double>& times) {
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
  }

  const ModelDelegateOptions& options_;
  const std::vector<Words> words_;
  const std::vector<std::span<const float>> inputs_;
  std::vector<float> output_;
};

Result<Measured> measure(const Model& model, Delegate& delegate, const ModelDelegateOptions& options) {
  COT_ASSIGN(DelegatedPredictor delegated,
             DelegatedPredictor::create(model, delegate,
                                        {.batch_size = options.batch_size,
                                         .threads = options.threads,
                                         .takes_whatever_cost = options.takes_whatever_cost}));
  COT_ASSIGN(Predictor own, Predictor::create(model, options.batch_size, limits::kArenaBytesMax, options.threads));
  Measurement measurement(model, options);
  Measured measured;
  COT_ASSIGN(measured.first_seconds, measurement.once(delegated));
  COT_TRY(measurement.medians(own, delegated, measured));
  measured.report = delegated.report();
  return measured;
}

std::string milliseconds(double seconds) { return format_fixed(seconds * 1e3, 3) + " ms"; }

}  // namespace

ExitCode delegate_model(const ModelDelegateOptions& options) {
  const Result<Model> model = open_model(options.model);
  if (!model) return fail_on_input(kCommand, model.error());
  const Result<std::shared_ptr<Delegate>> delegate = open_delegate(options.to);
  if (!delegate) return fail_on_input(kCommand, delegate.error());
  const Result<Measured> measured = measure(*model, **delegate, options);
  if (!measured) return fail_on_input(kCommand, measured.error().with_context(options.model));
  const DelegateReport& report = measured->report;
  if (options.as_json) {
    nlohmann::json json = delegate_json(*model, report);
    json["batch"] = options.batch_size;
    json["first_seconds"] = measured->first_seconds;
    json["own_seconds"] = measured->own_seconds;
    json["delegate_seconds"] = measured->delegate_seconds;
    print_json(json);
  } else {
    print_text(delegate_text(*model, report) + "\na batch of " + std::to_string(options.batch_size) + ": " +
               milliseconds(measured->own_seconds) + " by our kernels, " + milliseconds(measured->delegate_seconds) +
               " with " + report.traits.name + " (medians of " + std::to_string(options.steps) + ")\nits first one " +
               milliseconds(measured->first_seconds) + ", with the check\n");
  }
  const bool is_refused = std::ranges::any_of(report.parts, [](const auto& part) { return !part.refusal.empty(); });
  return is_refused ? ExitCode::failure : ExitCode::ok;
}

}  // namespace coterie
