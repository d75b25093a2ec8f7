#include "tools/vertical/party_inputs.h"

#include <algorithm>

#include "base/os/file.h"
#include "secure/crypto/sha256.h"
#include "tools/vertical/model_part.h"

namespace coterie {
namespace {

constexpr uint64_t kInputBytesMax = uint64_t{1} << 40;

Result<Digest> digest_of_file(const std::string& file) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kInputBytesMax));
  return sha256(bytes);
}

// By name: a table of new people may have more columns, and in another order.
Status keep_columns(PartyTable& table, const std::vector<std::string>& names, const std::string& file) {
  std::vector<std::vector<float>> columns;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(table.names, name);
    if (found == table.names.end()) {
      return Error(ErrorCode::invalid_argument,
                   file + ": the model asks for the column " + name + ", which is not there", "columns_differ");
    }
    columns.push_back(table.columns[static_cast<size_t>(found - table.names.begin())]);
  }
  table.columns = std::move(columns);
  table.names = names;
  return {};
}

Result<PartyInputs> read_prediction_inputs(const PartyConfig& config, const VerticalManifest& manifest) {
  if (config.model_file.empty()) {
    return Error(ErrorCode::invalid_argument,
                 "the manifest is of a prediction, and the configuration has no `model`: this party's model.part",
                 "model_missing");
  }
  COT_ASSIGN(ModelPart part, read_model_part_file(config.model_file));
  if (part.training != *manifest.predicts || part.model != manifest.model ||
      part.is_label_party != config.is_label_party) {
    return Error(ErrorCode::refused,
                 config.model_file + " is the " + (part.is_label_party ? "label" : "feature") +
                     " party's part of the model of the manifest " + part.training.hex() + "; the job is of " +
                     manifest.predicts->hex(),
                 "model_differs");
  }
  PartyInputs inputs;
  COT_ASSIGN(inputs.table, read_party_table(config.table_file, config.id_column, ""));
  COT_TRY(keep_columns(inputs.table, part.columns, config.table_file));
  COT_ASSIGN(const Digest table, digest_of_file(config.table_file));
  COT_ASSIGN(const Digest model, digest_of_file(config.model_file));
  Bytes both(table.bytes.begin(), table.bytes.end());
  both.insert(both.end(), model.bytes.begin(), model.bytes.end());
  inputs.digest = sha256(both);
  inputs.model = std::move(part.machine);
  return inputs;
}

}  // namespace

Result<PartyInputs> read_party_inputs(const PartyConfig& config, const VerticalManifest& manifest) {
  if (manifest.is_prediction()) return read_prediction_inputs(config, manifest);
  if (!config.model_file.empty()) {
    return Error(ErrorCode::invalid_argument, "the manifest is of a training, which makes a model and reads none",
                 "model_unexpected");
  }
  PartyInputs inputs;
  COT_ASSIGN(inputs.table, read_party_table(config.table_file, config.id_column, config.label_column));
  COT_ASSIGN(inputs.digest, digest_of_file(config.table_file));
  return inputs;
}

}  // namespace coterie
