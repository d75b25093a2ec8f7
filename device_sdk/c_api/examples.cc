// coterie_examples_*: examples that the app pushes.
#include <cstring>
#include <string>
#include <vector>

#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/c_api/source_dataset.h"

using namespace coterie;

struct coterie_examples final : Handle, ExampleSource {
  explicit coterie_examples(const Model& taking) : model(taking), inputs(taking.graph().inputs.size()) {}

  // Floats that may be the bytes of int32, as everywhere in the runtime; one example behind the other.
  struct Column {
    std::vector<float> values;
    size_t elements = 0;

    Status copy(uint64_t index, std::span<float> to, const std::string& name) const {
      if (to.size() != elements) {
        return Error(ErrorCode::invalid_argument, name + " has " + std::to_string(elements) +
                                                      " values an example, the "
                                                      "model takes " +
                                                      std::to_string(to.size()));
      }
      std::memcpy(to.data(), values.data() + index * elements, to.size_bytes());
      return {};
    }
    void append(const void* from) {
      const size_t old = values.size();
      values.resize(old + elements);
      std::memcpy(values.data() + old, from, elements * sizeof(float));
    }
  };

  uint64_t size() const override { return count; }

  Status read(uint64_t index, const Example& to) override {
    if (index >= count) {
      return Error(ErrorCode::unavailable,
                   "example " + std::to_string(index) + " is gone: " + std::to_string(count) + " are left");
    }
    if (to.input_count() != inputs.size()) {
      return Error(ErrorCode::invalid_argument, "the examples have " + std::to_string(inputs.size()) +
                                                    " inputs, the "
                                                    "model takes " +
                                                    std::to_string(to.input_count()));
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      COT_TRY(inputs[i].copy(index, to.features(i), "input " + std::to_string(i)));
    return target.copy(index, to.targets(), "the target");
  }

  Status add(std::span<const coterie_values> given, const coterie_values& given_target);

  Model model;
  std::vector<Column> inputs;
  Column target;
  bool target_is_int = false;
  uint64_t count = 0;
};

namespace {

// The one pointer that is set, if it is of the right type.
Result<const void*> check_values(const coterie_values& given, bool is_int, uint64_t elements, const std::string& name) {
  const void* values = is_int ? static_cast<const void*>(given.ints) : given.floats;
  if (values == nullptr || (is_int ? given.floats != nullptr : given.ints != nullptr) || given.count != elements) {
    return Error(ErrorCode::invalid_argument, name + " takes " + std::to_string(elements) +
                                                  (is_int ? " ints" : " floats") + ", given " +
                                                  std::to_string(given.count) +
                                                  (given.ints != nullptr     ? " ints"
                                                   : given.floats != nullptr ? " floats"
                                                                             : " and NULL"));
  }
  return values;
}

}  // namespace

Status coterie_examples::add(std::span<const coterie_values> given, const coterie_values& given_target) {
  if (given.size() != inputs.size()) {
    return Error(ErrorCode::invalid_argument,
                 std::to_string(given.size()) + " inputs, the model takes " + std::to_string(inputs.size()));
  }
  std::vector<const void*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].elements = elements(model.input_shape(i));
    COT_ASSIGN(const void* values, check_values(given[i], model.input_type(i) == DataType::int32, inputs[i].elements,
                                                "input " + std::to_string(i)));
    pointers.push_back(values);
  }
  if (count == 0) {  // the first example says what targets are
    target.elements = given_target.count;
    target_is_int = given_target.ints != nullptr;
    if (target.elements == 0) return Error(ErrorCode::invalid_argument, "the target has no values");
  }
  COT_ASSIGN(const void* target_values, check_values(given_target, target_is_int, target.elements, "the target"));
  // Everything was checked before anything is appended: an example that does not fit leaves all columns equally long.
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].append(pointers[i]);
  target.append(target_values);
  ++count;
  return {};
}

extern "C" {

coterie_status coterie_examples_open(const coterie_model* model, coterie_examples** examples, char* error_text,
                                     size_t error_text_size) {
  const auto make = [&]() -> Result<std::unique_ptr<coterie_examples>> {
    if (model == nullptr) return null_argument("model");
    return std::make_unique<coterie_examples>(model->model);
  };
  return open_handle(examples, "examples", make, error_text, error_text_size);
}

void coterie_examples_close(coterie_examples** examples) { close_handle(examples); }

const char* coterie_examples_last_error(const coterie_examples* examples) {
  return examples == nullptr ? "the examples are NULL: they could not be opened, or were closed"
                             : examples->last_error.c_str();
}

coterie_status coterie_examples_add(coterie_examples* examples, const float* features, size_t feature_count,
                                    int32_t label) {
  const coterie_values input = {features, nullptr, feature_count}, target = {nullptr, &label, 1};
  return coterie_examples_add_values(examples, &input, 1, &target);
}

coterie_status coterie_examples_add_values(coterie_examples* examples, const coterie_values* inputs, size_t input_count,
                                           const coterie_values* target) {
  return with(examples, [&]() -> Status {
    if (inputs == nullptr || target == nullptr) return null_argument("inputs and target");
    return examples->add({inputs, input_count}, *target);
  });
}

uint64_t coterie_examples_count(const coterie_examples* examples) { return examples == nullptr ? 0 : examples->count; }

coterie_status coterie_examples_clear(coterie_examples* examples) {
  return with(examples, [&]() -> Status {
    for (coterie_examples::Column& input : examples->inputs) input.values.clear();
    examples->target.values.clear();
    examples->count = 0;
    return {};
  });
}

coterie_status coterie_examples_dataset(coterie_examples* examples, coterie_dataset* dataset) {
  return with(examples, [&]() -> Status {
    if (dataset == nullptr) return null_argument("dataset");
    COT_TRY(check_size(*dataset, "dataset"));
    fill_known_part(*dataset, dataset_of(*examples));
    return {};
  });
}

}  // extern "C"
