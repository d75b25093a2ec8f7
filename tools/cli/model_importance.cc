#include "tools/cli/model_importance.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/explain/permutation_importance.h"
#include "tools/model/measure.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model explain";
constexpr int kNameColumns = 40;  // a line of the table has at most 80

struct Importance {
  std::vector<Feature> features;
  bool is_classified = false;
  PermutationImportance found;
  uint64_t examples = 0;
};

Result<Importance> importance_of(const ImportanceOptions& options) {
  COT_ASSIGN(const Model model, open_model(options.model));
  COT_ASSIGN(LocalData data, open_data(options.data, model));
  InterruptibleSource examples(data.judges());
  const LossSettings loss = loss_for(data.judges().header(), options.loss);
  Importance made{.features = features_of(model.input_shape(), data.contract ? &*data.contract : nullptr),
                  .is_classified = loss.target == TargetKind::labels,
                  .examples = examples.size()};
  Result<PermutationImportance> found =
      permutation_importance(model, loss, examples, made.features, options.repeats, options.seed);
  if (!found) return found.error().with_context(options.model + " on " + options.data);
  made.found = std::move(*found);
  return made;
}

// The most important first.
std::vector<size_t> order_of(const PermutationImportance& found) {
  std::vector<size_t> order(found.features.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return found.features[i].loss_rise; });
  return order;
}

}  // namespace

ExitCode show_importance(const ImportanceOptions& options) {
  const Result<Importance> made = importance_of(options);
  if (!made) return fail_on_input(kCommand, made.error());
  const std::vector<FeatureImportance>& importances = made->found.features;
  if (options.as_json) {
    nlohmann::json features = nlohmann::json::array();
    for (const size_t i : order_of(made->found)) {
      features.push_back({{"feature", printable(made->features[i].name)},
                          {"loss_rise", importances[i].loss_rise},
                          {"deviation", importances[i].deviation}});
      if (made->is_classified) features.back()["error_rise"] = importances[i].error_rise;
    }
    print_json({{"method", kPermutation},
                {"examples", made->examples},
                {"loss", made->found.loss},
                {"features", std::move(features)}});
    return ExitCode::ok;
  }
  std::vector<Table::Column> columns = {
      {"FEATURE"}, {"LOSS RISE", Table::Align::right}, {"DEVIATION", Table::Align::right}};
  if (made->is_classified) columns.push_back({"ERROR RISE", Table::Align::right});
  Table table(columns);
  std::vector<size_t> order = order_of(made->found);
  order.resize(std::min<size_t>(order.size(), options.top));
  for (const size_t i : order) {
    std::vector<std::string> cells = {shortened(made->features[i].name, kNameColumns),
                                      format_digits(importances[i].loss_rise), format_digits(importances[i].deviation)};
    if (made->is_classified) cells.push_back(format_percent(importances[i].error_rise));
    table.add(std::move(cells));
  }
  print_text("loss " + format_fixed(made->found.loss, 4) + " on " + counted(made->examples, "example") +
             "; it rises where a feature is shuffled\n\n" + table.text());
  return ExitCode::ok;
}

}  // namespace coterie
