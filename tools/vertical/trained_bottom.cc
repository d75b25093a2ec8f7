#include "tools/vertical/trained_bottom.h"

#include <algorithm>
#include <utility>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

constexpr uint64_t kBottomBytesMax = uint64_t{64} << 20;  // of either file

Error wrong_columns(const std::string& what) { return Error(ErrorCode::invalid_argument, what, "bottom_columns"); }

// By name: the table may have more columns, and in another order.
Result<std::vector<std::optional<vertical::BottomInput>>> place_columns(const InputContract& contract,
                                                                        const std::vector<std::string>& names) {
  std::vector<std::optional<vertical::BottomInput>> placed(names.size());
  uint32_t input = 0;
  for (const ContractColumn& column : contract.columns) {
    const auto found = std::ranges::find(names, column.name);
    if (found == names.end()) return wrong_columns("the table has no column " + column.name);
    std::optional<vertical::BottomInput>& place = placed[static_cast<size_t>(found - names.begin())];
    if (place) return wrong_columns("the column " + column.name + " is there twice");
    place = {.name = column.name, .input = input};
    if (contract.standardise) {
      place->mean = column.mean;
      place->deviation = column.deviation;
    }
    input += static_cast<uint32_t>(column.width(contract.one_hot));
  }
  return placed;
}

struct ReadModel {
  Model model;
  Digest bytes;
};

Result<ReadModel> read_model(const BottomFiles& files) {
  COT_ASSIGN(Bytes bytes, os::read_file(files.model, kBottomBytesMax));
  const Digest digest = sha256(bytes);
  Result<Model> model = Model::load(std::move(bytes));
  if (!model) return model.error().with_context(files.model);
  if (files.digest && model->digest() != *files.digest) {
    return Error(
        ErrorCode::refused,
        files.model + " is the model " + model->digest().hex() + "; the configuration means " + files.digest->hex(),
        "bottom_model");
  }
  return ReadModel{.model = *std::move(model), .bytes = digest};
}

}  // namespace

Result<uint32_t> bottom_inputs(const InputContract& contract) {
  if (contract.kind != "table") {
    return wrong_columns("a contract of kind " + contract.kind + ", expected table");
  }
  uint64_t inputs = 0;
  for (const ContractColumn& column : contract.columns) {
    if (column.is_category || column.text_bytes > 0) {
      return wrong_columns("the column " + column.name + " is a " + (column.is_category ? "category" : "text") +
                           "; a party's table has numbers alone");
    }
    inputs += column.width(contract.one_hot);
  }
  if (inputs == 0 || inputs > 2 * vertical::kSplitColumnsMax) {
    return wrong_columns("its columns are " + std::to_string(inputs) + " numbers");
  }
  return static_cast<uint32_t>(inputs);
}

Status check_takes_bottom(const VerticalManifest& manifest) {
  const bool is_mlp = manifest.is_split() && manifest.split.network == vertical::SplitNetwork::mlp;
  if (is_mlp && !manifest.is_prediction()) return {};
  return Error(ErrorCode::invalid_argument,
               "there is a bottom, and the manifest is not of the training of a split network of the kind mlp",
               "bottom_unexpected");
}

Result<TrainedBottom> read_trained_bottom(const BottomFiles& files, const vertical::SplitSettings& settings,
                                          const PartyTable& table) {
  COT_ASSIGN(const Bytes contract_bytes, os::read_file(files.contract, kBottomBytesMax));
  TrainedBottom bottom{.layers = {}, .columns = {}, .model = {}, .contract = sha256(contract_bytes)};
  const auto read = [&]() -> Result<uint32_t> {
    COT_ASSIGN(const InputContract contract, parse_contract(as_text(contract_bytes)));
    COT_ASSIGN(const uint32_t inputs, bottom_inputs(contract));
    COT_ASSIGN(bottom.columns, place_columns(contract, table.names));
    return inputs;
  };
  const Result<uint32_t> inputs = read();
  if (!inputs) return inputs.error().with_context(files.contract);
  COT_ASSIGN(const ReadModel trained, read_model(files));
  bottom.model = trained.bytes;
  Result<vertical::SplitBottom> layers = vertical::read_bottom(settings, trained.model, *inputs);
  if (!layers) return layers.error().with_context(files.model);
  bottom.layers = *std::move(layers);
  return bottom;
}

}  // namespace coterie
