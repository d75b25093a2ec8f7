// What a served model takes and gives, in the words of the Open Inference Protocol v2: the model (ModelInterface), and
// with the steps before and behind it as its clients see it (ClientInterface).
// https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/model.h"

namespace coterie {

enum class ProtocolType : uint8_t { float32 = 1, int32, float64, uint8, bytes };

inline constexpr int64_t kAnySize = -1;  // of a dimension that each request chooses

struct TensorInterface {
  std::string name;
  ProtocolType type = ProtocolType::float32;
  Shape shape;            // of one example, without the batch
  uint64_t elements = 1;  // of one example; 0: the shape has a kAnySize
  bool operator==(const TensorInterface&) const = default;
};

struct ModelInterface {
  std::vector<TensorInterface> inputs;   // at least one; float32 or int32
  std::vector<TensorInterface> outputs;  // its own first, which is float32; the others likewise
  const TensorInterface& own_output() const { return outputs[0]; }
  bool operator==(const ModelInterface&) const = default;
};

struct ClientInterface {
  std::vector<TensorInterface> inputs, outputs;  // at least one each
  bool operator==(const ClientInterface&) const = default;
};

// Values of one tensor, rows first; those of its type, and the others are empty.
struct TensorValues {
  Shape shape;                     // of one example, without any kAnySize
  std::vector<float> words;        // float32; of int32 the same bits seen as float
  std::vector<double> doubles;     // float64
  Bytes pixels;                    // uint8
  std::vector<std::string> texts;  // bytes: one string an element
};

// Precondition: no size is kAnySize.
uint64_t elements_of(const Shape& shape);

// "FP32", "INT32", "FP64", "UINT8" or "BYTES".
std::string_view protocol_name(ProtocolType type);
// An element as binary data; 0 of bytes: each has its own length.
size_t element_bytes(ProtocolType type);

// "[-1,8,8,1]", or with the batch instead of -1.
std::string protocol_shape(const Shape& example, int64_t batch = -1);

}  // namespace coterie
