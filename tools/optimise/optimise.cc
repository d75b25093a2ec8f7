#include "tools/optimise/optimise.h"

#include <algorithm>

namespace coterie {
namespace {

// Each pass makes less of something; a mistake in one must end, too.
constexpr size_t kRoundsMax = 100;

bool is_done(const Pass& pass, const OptimiseSettings& settings) {
  if (settings.use == ModelUse::train && pass.training == kNeverTrained) return false;
  if (!settings.only.empty()) return pass.name == settings.only;
  return (settings.use == ModelUse::train ? pass.training : pass.level) <= settings.level;
}

Result<size_t> rewrite_each(PassGraph& graph, const Pass& pass) {
  size_t rewrites = 0;
  for (uint32_t i = 0; i < graph.op_count(); ++i) {
    if (!graph.is_needed(i) || !pass.at(graph, i)) continue;
    ++rewrites;
    if (const Status fits = graph.refresh(); !fits) return fits.error().with_context("pass " + std::string(pass.name));
  }
  return rewrites;
}

Result<size_t> rewrite_all(PassGraph& graph, const Pass& pass) {
  COT_ASSIGN(const Model before, graph.model());
  COT_ASSIGN(const Model after, pass.all(before));
  if (std::ranges::equal(before.file(), after.file())) return size_t{0};
  COT_ASSIGN(graph, PassGraph::of(after, graph.use()));
  const size_t ops_before = before.graph().ops.size(), ops = after.graph().ops.size();
  return std::max<size_t>(1, ops_before - std::min(ops_before, ops));
}

}  // namespace

std::span<const Pass> passes() {
  static const std::vector<Pass> all = [] {
    std::vector<Pass> joined;
    for (const auto* rows :
         {&passes_of::shared, &passes_of::neutral, &passes_of::shapes, &passes_of::arithmetic, &passes_of::layers}) {
      joined.insert(joined.end(), rows->begin(), rows->end());
    }
    return joined;
  }();
  return all;
}

Result<OptimisedModel> optimise(const Model& model, const OptimiseSettings& settings) {
  OptimisedModel optimised{model, {}};
  if (settings.level == Optimisation::none && settings.only.empty()) return optimised;
  if (!settings.only.empty() && std::ranges::find(passes(), settings.only, &Pass::name) == passes().end()) {
    return Error(ErrorCode::invalid_argument, "no pass has the name " + std::string(settings.only));
  }
  COT_ASSIGN(PassGraph graph, PassGraph::of(model, settings.use));
  std::vector<size_t> rewrites(passes().size());
  bool is_changed = true;
  for (size_t round = 0; is_changed && round < kRoundsMax; ++round) {
    is_changed = false;
    for (size_t i = 0; i < passes().size(); ++i) {
      const Pass& pass = passes()[i];
      if (!is_done(pass, settings)) continue;
      size_t found = 0;
      if (pass.all != nullptr) {
        COT_ASSIGN(found, rewrite_all(graph, pass));
      } else if (pass.at != nullptr) {
        COT_ASSIGN(found, rewrite_each(graph, pass));
      } else {
        found = graph.drop_dead();
      }
      if (found == 0) continue;
      graph.drop_dead();
      rewrites[i] += found;
      is_changed = true;
    }
  }
  for (size_t i = 0; i < rewrites.size(); ++i) {
    if (rewrites[i] != 0) optimised.passes.push_back({passes()[i].name, rewrites[i]});
  }
  if (!optimised.passes.empty()) {
    COT_ASSIGN(optimised.model, graph.model());
  }
  return optimised;
}

}  // namespace coterie
