#include "vertical/trees/tree_settings.h"

#include <algorithm>
#include <string>

namespace coterie::vertical {
namespace {

Status within(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return Error(ErrorCode::invalid_argument, std::string("trees: ") + name + " is " + std::to_string(value) +
                                                ", expected " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

SampleSize sample_size(const Goss& goss, uint32_t rows) {
  const auto share = [rows](double rate) { return static_cast<uint32_t>(rate * rows); };
  SampleSize size;
  size.top = share(goss.top_rate);
  size.other = std::min(std::max(share(goss.other_rate), 1u), rows - size.top);
  return size;
}

Status check_tree_settings(const TreeSettings& settings) {
  if (settings.objective > TreeObjective::squared_error) {
    return Error(ErrorCode::invalid_argument, "trees: the objective is none that this version knows");
  }
  const bool multi = settings.objective == TreeObjective::multi_softprob;
  COT_TRY(within("classes", settings.classes, multi ? 2 : 1, multi ? kTreeClassesMax : 1));
  COT_TRY(within("rounds", settings.rounds, 1, kTreesMax / settings.classes));
  COT_TRY(within("depth", settings.depth, 1, kTreeDepthMax));
  COT_TRY(within("eta", settings.eta, 1e-6, 1));
  COT_TRY(within("lambda", settings.lambda, 0, 1e9));
  COT_TRY(within("min_child_weight", settings.min_child_weight, 0, 1e9));
  if (!settings.goss) return {};
  COT_TRY(within("goss top_rate", settings.goss->top_rate, 0, 1));
  COT_TRY(within("goss other_rate", settings.goss->other_rate, kGossOtherRateMin, 1));
  return within("goss top_rate + other_rate", settings.goss->top_rate + settings.goss->other_rate, 0, 1);
}

}  // namespace coterie::vertical
