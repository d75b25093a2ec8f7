// `coterie vertical demo`: a job between organisations that meet at a coordinator, each a process on this machine.
//
// This process makes the certificates, the manifest and the configurations, submits the job and approves it for all,
// starts the parties, and compares what comes of it with a model of one table. It sees all tables, which nobody
// would outside of a demo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/cli/exit_code.h"
#include "vertical/regression/regression_settings.h"
#include "vertical/split/split_settings.h"
#include "vertical/trees/tree_settings.h"

namespace coterie {

enum class VerticalModel : uint8_t;   // manifest.h
enum class VerticalCipher : uint8_t;  // likewise
enum class RegressionMode : uint8_t;  // likewise

struct VerticalDemoOptions {
  std::string label_table, feature_table;  // CSV files; empty: the built-in ones
  VerticalModel model{};                   // trees
  // One has the label, the others a share each of the feature table's columns. More than two train trees alone.
  uint32_t parties = 2;
  uint32_t trees = 4, depth = 3, bins = 32;
  std::optional<vertical::Goss> goss;
  VerticalCipher cipher{};                // paillier
  RegressionMode mode{};                  // shares
  vertical::RegressionSettings logistic;  // a linear regression has its lambda, too
  vertical::SplitSettings split;
  std::string out;  // empty: runs/demo-DATE-TIME
};

ExitCode run_vertical_demo(const VerticalDemoOptions& options);

}  // namespace coterie
