// Explanations kept in the folder of the run that made the model: a picture and its figures each, which
// `coterie console --run` shows on the model's page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/explain/attribution_checks.h"
#include "tools/explain/explanation.h"

namespace coterie {

class Model;

// The run's model.cotf has to be this very model. Errors: those of its file, invalid_argument (another model).
Status check_model_of_run(const std::string& run, const Model& model);

struct KeptExplanation {
  const Explanation* explanation = nullptr;
  std::optional<uint32_t> label;  // of an example that has one
  std::optional<CheckedExample> checked;
};

// Replaces those of the same method, example and output. `image`: the shape of the inputs. Errors: those of
// attribution_picture() and of the files.
Status keep_in_run(const std::string& run, const Model& model, const Shape& image, const std::string& method,
                   const std::string& data, std::span<const KeptExplanation> explanations);

}  // namespace coterie
