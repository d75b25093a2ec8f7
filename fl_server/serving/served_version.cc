#include "fl_server/serving/served_version.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

#include "base/assert.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/int8/int8_predictor.h"
#include "device_sdk/runtime/predictor.h"
#include "fl_server/serving/at_once.h"
#include "fl_server/serving/servable_model.h"
#include "fl_server/serving/serving_steps.h"
#include "proto/messages/model_outputs.h"

namespace coterie {
namespace {

TensorInterface interface_of(const Model& model, uint32_t tensor, const Shape& shape, const std::string& unnamed) {
  const std::string& name = model.graph().tensors[tensor].name;
  const ProtocolType type = model.type(tensor) == DataType::int32 ? ProtocolType::int32 : ProtocolType::float32;
  return {name.empty() ? unnamed : name, type, shape, elements(shape)};
}

ModelInterface interface_of(const ServableModel& opened) {
  const Model& model = opened.model;
  ModelInterface result;
  for (size_t i = 0; i < model.graph().inputs.size(); ++i) {
    const uint32_t tensor = model.graph().inputs[i];
    result.inputs.push_back(interface_of(model, tensor, model.input_shape(i), "input-" + std::to_string(i)));
    result.inputs.back().type = model.input_type(i) == DataType::int32 ? ProtocolType::int32 : ProtocolType::float32;
  }
  std::vector<ModelOutput> outputs = model_outputs(model);
  if (opened.int8) outputs.resize(1);
  std::string unnamed = "output";  // at most one is
  while (std::ranges::find(outputs, unnamed, &ModelOutput::name) != outputs.end()) unnamed += "-0";
  for (const ModelOutput& output : outputs) {
    result.outputs.push_back(interface_of(model, output.tensor, output.shape, unnamed));
  }
  return result;
}

}  // namespace

std::vector<uint32_t> batch_sizes_up_to(uint32_t batch_max) {
  std::vector<uint32_t> sizes;
  for (uint32_t size = 1; size < batch_max; size *= 2) {
    sizes.push_back(size);
    if (size > batch_max / 2) break;
  }
  sizes.push_back(batch_max);
  return sizes;
}

ServedVersion::ServedVersion() : cost_(std::make_unique<ComputeCost>()) {}
ServedVersion::~ServedVersion() = default;

Result<std::shared_ptr<ServedVersion>> ServedVersion::load(Bytes file, uint64_t number, const SessionLimits& limits) {
  COT_ASSIGN(const ServableModel opened, open_servable(std::move(file)));
  return compile(opened, number, limits);
}

Result<std::shared_ptr<ServedVersion>> ServedVersion::compile(const ServableModel& opened, uint64_t number,
                                                              const SessionLimits& limits) {
  static std::atomic<uint64_t> next_lane{1};
  std::shared_ptr<ServedVersion> version(new ServedVersion());
  version->number_ = number;
  version->name_ = std::to_string(number);
  version->digest_ = opened.digest;
  version->digest_text_ = version->digest_.hex();
  version->interface_ = interface_of(opened);
  version->own_client_ = {.inputs = version->interface_.inputs, .outputs = version->interface_.outputs};
  version->lane_ = LaneId(next_lane++);
  version->steps_lane_ = LaneId(next_lane++);
  version->bytes_ = opened.file_bytes;
  COT_TRY(opened.int8 ? version->compile_int8(opened, limits) : version->compile_float(opened, limits));
  return version;
}

Status ServedVersion::compile_float(const ServableModel& opened, const SessionLimits& limits) {
  sessions_.resize(limits.workers);
  // The small sizes first: they are the ones that nobody can do without. The workers' sessions of a size are equally
  // large: a share that holds one holds all.
  COT_ASSIGN(const std::vector<uint32_t> outputs, graph_outputs(opened.model.graph()));
  uint64_t left = limits.memory_bytes_max;
  for (const uint32_t size : limits.batch_sizes) {
    const uint64_t share = left / limits.workers;
    for (std::vector<Predictor>& sessions : sessions_) {
      Result<Predictor> predictor = Predictor::create_of(opened.model, outputs, size, share);
      if (!predictor && predictor.error().code() == ErrorCode::too_large && size > 1) {
        lacks_batch_sizes_ = true;
        return {};
      }
      if (!predictor) return predictor.error();
      left -= predictor->arena_bytes();
      bytes_ += predictor->arena_bytes();
      sessions.push_back(std::move(*predictor));
    }
  }
  return {};
}

Status ServedVersion::compile_int8(const ServableModel& opened, const SessionLimits& limits) {
  int8_ = opened.int8;
  int8_sessions_.reserve(limits.workers);
  for (size_t seat = 0; seat < limits.workers; ++seat) {
    COT_ASSIGN(Int8Predictor predictor, Int8Predictor::create(*int8_, limits.memory_bytes_max / limits.workers));
    bytes_ += predictor.bytes();
    int8_sessions_.push_back(std::move(predictor));
  }
  return {};
}

Status ServedVersion::check(const ServableModel& opened, const ServingSteps& steps) {
  const auto fitted = steps.fit(interface_of(opened));
  return fitted ? Status() : fitted.error().with_context("steps");
}

Status ServedVersion::put_on(const std::shared_ptr<const ServingSteps>& steps) {
  COT_ASSIGN(steps_, steps->fit(interface_));
  return {};
}

const ClientInterface& ServedVersion::client() const { return steps_ ? steps_->client() : own_client_; }

bool ServedVersion::answers_as(const ServedVersion& other) const {
  const auto written = [](const ServedVersion& version) {
    return version.steps_ ? version.steps_->steps() : std::shared_ptr<const ServingSteps>();
  };
  return interface_ == other.interface_ && written(*this) == written(other);
}

Status ServedVersion::run(size_t seat, std::span<const std::span<const float>> inputs, uint64_t rows,
                          std::span<const std::span<float>> outputs) {
  COT_ASSERT(outputs.size() == interface_.outputs.size());
  if (int8_) return int8_sessions_[seat].run(inputs[0], rows, outputs[0]);
  std::vector<Predictor>& sessions = sessions_[seat];
  std::vector<std::span<const float>> part(inputs.size());
  std::array<std::span<float>, kModelOutputsMax> answered;
  for (uint64_t from = 0; from < rows;) {
    const auto fits = [&](const Predictor& predictor) { return predictor.batch_size() <= rows - from; };
    Predictor& session = *std::find_if(sessions.rbegin(), sessions.rend(), fits);
    const uint64_t count = session.batch_size();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t size = interface_.inputs[i].elements;
      part[i] = inputs[i].subspan(from * size, count * size);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const uint64_t size = interface_.outputs[i].elements;
      answered[i] = outputs[i].subspan(from * size, count * size);
    }
    COT_TRY(session.run(part, count, std::span<const std::span<float>>(answered.data(), outputs.size())));
    from += count;
  }
  return {};
}

}  // namespace coterie
