#include "tools/model/measure.h"

#include <algorithm>

#include "device_sdk/runtime/measures.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;
constexpr const char* kAll = "all";

}  // namespace

LossSettings loss_for(const DatasetHeader& data, std::optional<Loss> named) {
  const bool is_labelled = data.target.type != ColumnType::float32;
  return {.kind = named.value_or(is_labelled ? Loss::softmax_cross_entropy : Loss::mean_squared_error),
          .target = is_labelled ? TargetKind::labels : TargetKind::values};
}

Result<std::vector<std::string>> parse_measures(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  std::vector<std::string> named = names;
  std::erase(named, kAll);
  COT_TRY(check_measures(named));
  return names;
}

Result<Measured> measure(const Model& model, ExampleSource& examples, const LossSettings& loss,
                         const std::vector<std::string>& names, uint32_t threads, double unit, const OutputSink& also) {
  const auto width = static_cast<uint64_t>(model.output_shape().back());
  COT_TRY(check_loss_heads(loss));
  const bool takes_what_fits = std::ranges::find(names, kAll) != names.end();
  const std::vector<std::string> wanted = takes_what_fits ? every_measure(width) : names;
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch, limits::kArenaBytesMax, threads));
  MeasureCollector collector(loss_of_own_output(loss), width, wanted, unit);
  OutputSink sink;
  if (!wanted.empty() || also) {
    sink = [&](auto outputs, auto targets) {
      if (!wanted.empty()) collector.add(outputs, targets);
      if (also) also(outputs, targets);
    };
  }
  Measured measured;
  COT_ASSIGN(measured.evaluation, evaluator.run(model.parameters(), examples, sink));
  measured.heads = evaluator.heads();
  for (const std::string& name : wanted) {
    const Result<double> value = collector.value_of(name, measured.evaluation);
    if (value) measured.measures.push_back({name, *value});
    else if (!takes_what_fits) return value.error();
  }
  return measured;
}

}  // namespace coterie
