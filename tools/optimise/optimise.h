// Passes over a model file, until none finds anything.
#pragma once

#include <string>
#include <vector>

#include "tools/optimise/pass.h"

namespace coterie {

struct OptimiseSettings {
  Optimisation level = Optimisation::rounding;
  ModelUse use = ModelUse::predict;
  std::string_view only = {};  // the one pass of this name, whatever its level; empty: those of the level
};

struct PassCount {
  std::string_view name;
  size_t rewrites = 0;
};

struct OptimisedModel {
  Model model;                    // at level none, and where nothing was found, the given one
  std::vector<PassCount> passes;  // those that found something, in the order of the table
};

// Errors: invalid_argument (no pass has the name), those of Model::load.
Result<OptimisedModel> optimise(const Model& model, const OptimiseSettings& settings);

}  // namespace coterie
