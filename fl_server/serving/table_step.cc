// A row of a table: columns. Fields become numbers by the contract of the data that the model was trained on.
#include <bit>

#include "fl_server/json/json_reader.h"
#include "fl_server/serving/contract_file.h"
#include "model_io/encode_field.h"

namespace coterie {
namespace {

class Columns final : public ServingStep {
 public:
  explicit Columns(InputContract contract) : contract_(std::move(contract)) {}

  // Each column is a value of its own name.
  std::vector<std::string> sources() const override {
    std::vector<std::string> names;
    for (const ContractColumn& column : contract_.columns) names.push_back(column.name);
    return names;
  }
  // The contract's inputs: "features", or "numbers" and "categories".
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    for (size_t i = 0; i < from.size(); ++i) {
      const ContractColumn& column = contract_.columns[i];
      const bool is_number = !column.is_category && column.text_bytes == 0;
      const bool fits = from[i].type == ProtocolType::bytes || (is_number && from[i].type != ProtocolType::uint8);
      if (!from[i].shape.empty() || !fits) {
        return wrong_type(from[i], is_number ? "FP64 [], FP32 [], INT32 [] or BYTES []" : "BYTES []")
            .with_context("column " + column.name);
      }
    }
    std::vector<StepPart> parts;
    for (const DatasetColumn& input : contract_.inputs) {
      const ProtocolType type = input.type == ColumnType::int32 ? ProtocolType::int32 : ProtocolType::float32;
      parts.push_back({input.name, {type, input.shape}});
    }
    return parts;
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    EncodedFields fields;
    for (size_t i = 0; i < from.size(); ++i) {
      const ContractColumn& column = contract_.columns[i];
      const Result<FieldNote> note = encode(column, from[i], fields);
      if (!note) return note.error().with_context("column " + column.name);
    }
    for (size_t i = 0; i < contract_.inputs.size(); ++i) {
      to[i].shape = contract_.inputs[i].shape;
      if (contract_.inputs[i].type != ColumnType::int32) {
        to[i].words = std::move(fields.numbers);
        continue;
      }
      for (const int32_t code : fields.codes) to[i].words.push_back(std::bit_cast<float>(code));
    }
    return {};
  }

 private:
  Result<FieldNote> encode(const ContractColumn& column, const ValueView& value, EncodedFields& fields) const {
    switch (value.type) {
      case ProtocolType::bytes: return encode_field(contract_, column, value.texts[0], fields);
      case ProtocolType::float64: return encode_number(contract_, column, value.doubles[0], fields);
      case ProtocolType::int32: return encode_number(contract_, column, std::bit_cast<int32_t>(value.words[0]), fields);
      default: return encode_number(contract_, column, static_cast<double>(value.words[0]), fields);
    }
  }

  const InputContract contract_;
};

}  // namespace

StepResult make_table_step(const std::string& kind, JsonReader& settings, const StepFiles& files) {
  if (kind != "columns") return std::unique_ptr<ServingStep>();
  std::string path;
  settings.require("contract");
  settings.read("contract", path);
  if (path.empty()) return std::unique_ptr<ServingStep>(new Columns({}));  // the reader has the problem
  COT_ASSIGN(InputContract contract, read_step_contract(files, path));
  if (contract.columns.empty()) {
    return Error(ErrorCode::invalid_argument, path + " is of " + contract.kind + ", expected columns of a table");
  }
  return std::unique_ptr<ServingStep>(new Columns(std::move(contract)));
}

}  // namespace coterie
