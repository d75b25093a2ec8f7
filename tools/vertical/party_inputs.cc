#include "tools/vertical/party_inputs.h"

#include <algorithm>
#include <utility>

#include "base/os/file.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"
#include "tools/data/packed_file.h"
#include "tools/vertical/model_part.h"

namespace coterie {
namespace {

struct ReadTable {
  vertical::IdSet ids;
  PartyTable table;
  Digest bytes;
};

// Once: a file that changes between two looks would be trained on as one table, and remembered as another.
Result<ReadTable> read_table(const PartyConfig& config, const std::string& label_column, LabelValues values) {
  COT_ASSIGN(const Bytes bytes, read_unpacked(config.table_file, kPartyTableBytesMax));
  ReadTable read;
  COT_ASSIGN(read.table, parse_party_table(as_text(bytes), config.table_file, config.id_column, label_column, values));
  // Here and not once parties have met: sorting many takes a while.
  auto ids = vertical::IdSet::make(read.table.ids, vertical::Duplicates::refuse);
  if (!ids) return ids.error().with_context(config.table_file);
  read.ids = std::move(*ids);
  read.bytes = sha256(bytes);
  return read;
}

struct ReadPart {
  ModelPart part;
  Digest bytes;
};

Result<ReadPart> read_part(const std::string& file) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, kModelPartBytesMax));
  Result<ModelPart> part = read_model_part(bytes);
  if (!part) return part.error().with_context(file);
  return ReadPart{.part = std::move(*part), .bytes = sha256(bytes)};
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
  COT_ASSIGN(ReadPart read, read_part(config.model_file));
  ModelPart& part = read.part;
  if (part.training != *manifest.predicts || part.model != manifest.model ||
      part.is_label_party != config.is_label_party) {
    return Error(ErrorCode::refused,
                 config.model_file + " is the " + (part.is_label_party ? "label" : "feature") +
                     " party's part of the model of the manifest " + part.training.hex() + "; the job is of " +
                     manifest.predicts->hex(),
                 "model_differs");
  }
  COT_ASSIGN(ReadTable table, read_table(config, "", LabelValues::binary));
  COT_TRY(keep_columns(table.table, part.columns, config.table_file));
  DomainFields fields("coterie/v1/party-inputs/prediction");
  fields.add(table.bytes.view()).add(config.id_column).add(read.bytes.view());
  for (const std::string& name : part.columns) fields.add(name);
  return PartyInputs{.ids = std::move(table.ids),
                     .table = std::move(table.table),
                     .model = std::move(part.machine),
                     .bottom = {},
                     .digest = sha256(fields.view())};
}

}  // namespace

Result<PartyInputs> read_party_inputs(const PartyConfig& config, const VerticalManifest& manifest) {
  if (config.bottom) COT_TRY(check_takes_bottom(manifest));
  if (manifest.is_prediction()) return read_prediction_inputs(config, manifest);
  if (!config.model_file.empty()) {
    return Error(ErrorCode::invalid_argument, "the manifest is of a training, which makes a model and reads none",
                 "model_unexpected");
  }
  const std::string label_column = config.is_label_party ? config.label_column : "";
  const LabelValues values = manifest.is_linear() ? LabelValues::numbers : LabelValues::binary;
  COT_ASSIGN(ReadTable table, read_table(config, label_column, values));
  DomainFields fields("coterie/v1/party-inputs/training");
  fields.add(table.bytes.view()).add(config.id_column).add(label_column);
  PartyInputs inputs{
      .ids = std::move(table.ids), .table = std::move(table.table), .model = {}, .bottom = {}, .digest = {}};
  if (config.bottom) {
    COT_ASSIGN(inputs.bottom, read_trained_bottom(*config.bottom, manifest.split, inputs.table));
    fields.add(inputs.bottom->model.view()).add(inputs.bottom->contract.view());
  }
  inputs.digest = sha256(fields.view());
  return inputs;
}

}  // namespace coterie
