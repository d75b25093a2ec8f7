// coterie_model_*: opening, describing, predicting, saving.
#include <algorithm>
#include <string>

#include "base/os/file.h"
#include "device_sdk/c_api/model_handle.h"
#include "device_sdk/runtime/head.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/stored_model_file.h"
#include "proto/messages/model_outputs.h"

namespace {

using namespace coterie;

constexpr uint64_t kModelBytesMax = 1ull << 34;
constexpr uint64_t kPredictBatch = 32;  // no faster beyond, and memory grows with it

Result<std::unique_ptr<coterie_model>> load(Bytes file) {
  COT_TRY(check_seal(file));
  if (computes_in_int8(file)) {
    COT_ASSIGN(Int8Model opened, open_int8_model(file));
    auto handle = std::make_unique<coterie_model>(std::move(opened.exact));
    auto program = std::make_unique<const Int8Program>(std::move(opened.program));
    COT_ASSIGN(Int8Predictor predictor, Int8Predictor::create(*program, limits::kArenaBytesMax));
    handle->int8.reset(new Int8Answers{std::move(file), std::move(program), std::move(predictor)});
    return handle;
  }
  COT_ASSIGN(file, expand_model(std::move(file)));
  COT_ASSIGN(Model model, Model::load(std::move(file)));
  return std::make_unique<coterie_model>(std::move(model));
}

Status fill(coterie_tensor* tensor, const std::string& name, DataType type, const Shape& shape) {
  if (tensor == nullptr) return null_argument("tensor");
  COT_TRY(check_size(*tensor, "tensor"));
  coterie_tensor filled{};
  filled.name = name.c_str();
  filled.type = type == DataType::int32 ? COTERIE_TYPE_INT32 : COTERIE_TYPE_FLOAT32;
  filled.rank = shape.size();
  filled.shape = shape.data();
  filled.elements = elements(shape);
  fill_known_part(*tensor, filled);
  return {};
}

Status check_index(size_t index, size_t count, const char* what) {
  if (index < count) return {};
  return Error(ErrorCode::not_found, std::string(what) + " " + std::to_string(index) + " of " + std::to_string(count));
}

// The numbers of input i, as the type that it takes.
Result<std::span<const float>> input_values(const Model& model, size_t i, const coterie_values& given) {
  const bool is_int = model.input_type(i) == DataType::int32;
  const float* values = is_int ? reinterpret_cast<const float*>(given.ints) : given.floats;
  if (values == nullptr || (is_int ? given.floats != nullptr : given.ints != nullptr)) {
    return Error(ErrorCode::invalid_argument, "input " + std::to_string(i) + " takes " +
                                                  std::string(to_string(model.input_type(i))) +
                                                  ": set that pointer, and the other one to NULL");
  }
  return std::span(values, given.count);
}

Status predict(coterie_model& handle, const coterie_values* inputs, size_t input_count, size_t example_count,
               float* output, size_t output_count) {
  if (output == nullptr) return null_argument("inputs and output");
  COT_ASSIGN(const auto spans, input_spans(handle.model, inputs, input_count, example_count));
  if (handle.int8) return predict_int8(*handle.int8, spans, example_count, std::span(output, output_count));
  const uint32_t batch_size = predict_batch(example_count);
  if (!handle.predictor || handle.predictor->batch_size() != batch_size) {
    COT_ASSIGN(handle.predictor, Predictor::create(handle.model, batch_size));
  }
  return handle.predictor->run(spans, example_count, std::span(output, output_count));
}

Status describe(const coterie_model& handle, coterie_model_info* info) {
  if (info == nullptr) return null_argument("info");
  COT_TRY(check_size(*info, "info"));
  const Model& model = handle.model;
  coterie_model_info filled{};
  filled.name = model.graph().name.c_str();
  filled.input_count = model.graph().inputs.size();
  filled.parameter_count = handle.parameters.size();
  for (const uint32_t tensor : handle.parameters) filled.parameters += elements(model.graph().tensors[tensor].shape);
  filled.flat_count = model.value_count();
  filled.file_bytes = handle.file().size();
  filled.flops = model.flops();
  filled.output_count = handle.int8 ? 1 : 1 + further_outputs(model.graph()).size();
  filled.computes_in_int8 = handle.int8 ? 1 : 0;
  fill_known_part(*info, filled);
  return {};
}

}  // namespace

coterie_model::coterie_model(coterie::Model opened) : model(std::move(opened)) {
  const auto& tensors = model.graph().tensors;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (has_payload(tensors[i].role)) parameters.push_back(i);
  }
}

std::vector<coterie::ModelOutput> coterie_model::all_outputs() const {
  std::vector<coterie::ModelOutput> all = coterie::model_outputs(model);
  if (int8) all.resize(1);
  return all;
}

namespace coterie {

Result<const Model*> float_model(const coterie_model& handle) {
  if (handle.int8) return float32_alone();
  return &handle.model;
}

Status predict_int8(Int8Answers& int8, std::span<const std::span<const float>> inputs, size_t example_count,
                    std::span<float> output) {
  if (inputs.size() != 1) {
    return Error(ErrorCode::invalid_argument,
                 std::to_string(inputs.size()) + " inputs, the model has 1: it computes in int8");
  }
  return int8.predictor.run(inputs[0], example_count, output);
}

Result<std::vector<std::span<const float>>> input_spans(const Model& model, const coterie_values* inputs,
                                                        size_t input_count, size_t example_count) {
  if (inputs == nullptr) return null_argument("inputs and output");
  if (example_count == 0) return Error(ErrorCode::invalid_argument, "there are no examples");
  std::vector<std::span<const float>> spans;
  for (size_t i = 0; i < std::min(input_count, model.graph().inputs.size()); ++i) {
    COT_ASSIGN(const std::span<const float> values, input_values(model, i, inputs[i]));
    spans.push_back(values);
  }
  spans.resize(input_count);
  return spans;
}

uint32_t predict_batch(size_t example_count) {
  return static_cast<uint32_t>(std::min<uint64_t>(example_count, kPredictBatch));
}

Result<size_t> find_parameter(const Model& model, const char* name, const float* values, size_t count) {
  if (name == nullptr || values == nullptr) return null_argument("name and values");
  const auto& tensors = model.graph().tensors;
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorInfo& tensor) {
    return has_payload(tensor.role) && tensor.name == name;
  });
  if (found == tensors.end()) return Error(ErrorCode::not_found, std::string("the model has no parameter ") + name);
  if (elements(found->shape) != count) {
    return Error(ErrorCode::invalid_argument, std::string("parameter ") + name + " has " +
                                                  std::to_string(elements(found->shape)) + " values, not " +
                                                  std::to_string(count));
  }
  return found->payload_offset / sizeof(float);
}

}  // namespace coterie

extern "C" {

coterie_status coterie_model_open(const char* path, coterie_model** model, char* error_text, size_t error_text_size) {
  const auto make = [&]() -> Result<std::unique_ptr<coterie_model>> {
    if (path == nullptr) return null_argument("path");
    COT_ASSIGN(Bytes file, os::read_file(path, kModelBytesMax));
    auto loaded = load(std::move(file));
    if (!loaded) return loaded.error().with_context(path);
    return loaded;
  };
  return open_handle(model, "model", make, error_text, error_text_size);
}

coterie_status coterie_model_open_bytes(const uint8_t* bytes, size_t count, coterie_model** model, char* error_text,
                                        size_t error_text_size) {
  const auto make = [&]() -> Result<std::unique_ptr<coterie_model>> {
    if (bytes == nullptr) return null_argument("bytes");
    return load(Bytes(bytes, bytes + count));
  };
  return open_handle(model, "model", make, error_text, error_text_size);
}

void coterie_model_close(coterie_model** model) { close_handle(model); }

const char* coterie_model_last_error(const coterie_model* model) {
  return model == nullptr ? "the model is NULL: it could not be opened, or it was closed" : model->last_error.c_str();
}

coterie_status coterie_model_describe(coterie_model* model, coterie_model_info* info) {
  return with(model, [&] { return describe(*model, info); });
}

coterie_status coterie_model_input(coterie_model* model, size_t index, coterie_tensor* tensor) {
  return with(model, [&]() -> Status {
    const ModelGraph& graph = model->model.graph();
    COT_TRY(check_index(index, graph.inputs.size(), "input"));
    return fill(tensor, graph.tensors[graph.inputs[index]].name, model->model.input_type(index),
                model->model.input_shape(index));
  });
}

coterie_status coterie_model_output(coterie_model* model, coterie_tensor* tensor) {
  return with(model, [&] {
    const ModelGraph& graph = model->model.graph();
    return fill(tensor, graph.tensors[graph.output].name, model->model.type(graph.output), model->model.output_shape());
  });
}

coterie_status coterie_model_parameter(coterie_model* model, size_t index, coterie_tensor* tensor) {
  return with(model, [&]() -> Status {
    COT_TRY(check_index(index, model->parameters.size(), "parameter"));
    const TensorInfo& info = model->model.graph().tensors[model->parameters[index]];
    return fill(tensor, info.name, info.type, info.shape);
  });
}

coterie_status coterie_model_get_parameter(coterie_model* model, const char* name, float* values, size_t count) {
  return with(model, [&]() -> Status {
    COT_ASSIGN(const size_t first, find_parameter(model->model, name, values, count));
    std::copy_n(model->model.parameters().begin() + static_cast<ptrdiff_t>(first), count, values);
    return {};
  });
}

coterie_status coterie_model_set_parameter(coterie_model* model, const char* name, const float* values, size_t count) {
  return with(model, [&]() -> Status {
    COT_ASSIGN(const Model* before, float_model(*model));
    COT_ASSIGN(const size_t first, find_parameter(*before, name, values, count));
    const std::span<const float> old = before->parameters();
    std::vector<float> flat(old.begin(), old.end());
    std::copy_n(values, count, flat.begin() + static_cast<ptrdiff_t>(first));
    COT_ASSIGN(model->model, Model::load(before->file_with(flat)));
    model->forget();
    return {};
  });
}

coterie_status coterie_model_replace_head(coterie_model* model, const char* layer, uint32_t classes, uint64_t seed) {
  return with(model, [&]() -> Status {
    if (layer == nullptr) return null_argument("layer");
    COT_ASSIGN(const Model* before, float_model(*model));
    COT_ASSIGN(Bytes file, replace_head(*before, {layer, classes, seed}));
    COT_ASSIGN(model->model, Model::load(std::move(file)));
    model->forget();
    return {};
  });
}

coterie_status coterie_model_predict(coterie_model* model, const coterie_values* inputs, size_t input_count,
                                     size_t example_count, float* output, size_t output_count) {
  return with(model, [&] { return predict(*model, inputs, input_count, example_count, output, output_count); });
}

coterie_status coterie_model_save(coterie_model* model, const char* path) {
  return with(model, [&]() -> Status {
    if (path == nullptr) return null_argument("path");
    return os::write_file_atomically(path, model->file());
  });
}

coterie_status coterie_model_bytes(coterie_model* model, const uint8_t** bytes, size_t* count) {
  return with(model, [&]() -> Status {
    if (bytes == nullptr || count == nullptr) return null_argument("bytes and count");
    *bytes = model->file().data();
    *count = model->file().size();
    return {};
  });
}

}  // extern "C"
