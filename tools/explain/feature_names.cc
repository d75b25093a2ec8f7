#include "tools/explain/feature_names.h"

#include "device_sdk/runtime/op_rule.h"

namespace coterie {
namespace {

bool fits(const Shape& shape, const InputContract* contract) {
  if (contract == nullptr || contract->columns.empty() || shape.size() != 1) return false;
  uint64_t values = 0;
  for (const ContractColumn& column : contract->columns) values += column.width(contract->one_hot);
  return values == elements(shape);
}

void add_names(const ContractColumn& column, bool one_hot, std::vector<std::string>& names) {
  const size_t width = column.width(one_hot);
  for (size_t i = 0; i < width; ++i) {
    if (column.is_category && one_hot) names.push_back(column.name + "=" + column.values[i]);
    else if (column.text_bytes > 0) names.push_back(column.name + "[" + std::to_string(i) + "]");
    else names.push_back(i == 0 ? column.name : column.name + " is missing");
  }
}

std::string place_of(const Shape& shape, uint64_t i) {
  if (shape.size() == 1) return "x" + std::to_string(i + 1);
  std::string name;
  for (size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[d]);
    // The channel of a grey picture says nothing.
    if (size > 1 || d + 1 < shape.size() || shape.size() < 3)
      name = std::to_string(i % size) + (name.empty() ? "" : ",") + name;
    i /= size;
  }
  return name;
}

}  // namespace

std::vector<std::string> value_names(const Shape& shape, const InputContract* contract) {
  std::vector<std::string> names;
  if (fits(shape, contract)) {
    for (const ContractColumn& column : contract->columns) add_names(column, contract->one_hot, names);
    return names;
  }
  for (uint64_t i = 0; i < elements(shape); ++i) names.push_back(place_of(shape, i));
  return names;
}

std::vector<Feature> features_of(const Shape& shape, const InputContract* contract) {
  std::vector<Feature> features;
  uint64_t first = 0;
  if (fits(shape, contract)) {
    for (const ContractColumn& column : contract->columns) {
      features.push_back({column.name, first, column.width(contract->one_hot)});
      first += features.back().count;
    }
    return features;
  }
  for (std::string& name : value_names(shape, nullptr)) features.push_back({std::move(name), first++, 1});
  return features;
}

std::vector<Feature> number_features(const Shape& shape, const InputContract* contract) {
  std::vector<Feature> features = features_of(shape, contract);
  if (!fits(shape, contract)) return features;
  std::vector<Feature> numbers;
  for (size_t i = 0; i < features.size(); ++i) {
    const ContractColumn& column = contract->columns[i];
    if (!column.is_category && column.text_bytes == 0) numbers.push_back(std::move(features[i]));
  }
  return numbers;
}

}  // namespace coterie
