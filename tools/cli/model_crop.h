// coterie model crop: the list of ops for a build that has what some models need and nothing else, and such a build.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "proto/messages/plan.h"
#include "tools/cli/exit_code.h"
#include "tools/crop/crop_needs.h"

namespace coterie {

struct ModelCropOptions {
  std::vector<std::string> models;  // model files, or those of other programs that model convert reads
  std::vector<std::string> plans;   // jobs' files: their losses and optimizers
  std::set<Loss> losses;
  std::set<OptimizerKind> optimizers;
  std::set<BuildFeature> without;
  bool is_smallest = false;  // without all that no plan asks for
  std::string to;            // the list; empty: printed
  std::string check;         // a list to hold the models against instead; empty: none
  std::string build_folder;  // empty: nothing is built
  std::string source = ".";
  bool as_json = false;
};

// Prints what the models need, and writes the list. With `check`, exit code failure names what the list lacks. With a
// build, prints what the client weighs part by part, and has it load each model: failure if it takes one not.
ExitCode crop_models(const ModelCropOptions& options);

}  // namespace coterie
