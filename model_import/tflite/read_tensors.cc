#include "model_import/tflite/read_tensors.h"

#include <cmath>
#include <set>

#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

namespace wire = tflite_wire;

bool is_known(int8_t type) {
  switch (static_cast<TfliteType>(type)) {
    case TfliteType::float32:
    case TfliteType::float16:
    case TfliteType::int32:
    case TfliteType::uint8:
    case TfliteType::int64:
    case TfliteType::boolean:
    case TfliteType::int16:
    case TfliteType::int8: return true;
  }
  return false;
}

// Zero points are numbers of their tensor's type.
bool is_zero_of(TfliteType type, int64_t zero) {
  switch (type) {
    case TfliteType::int8: return zero >= -128 && zero <= 127;
    case TfliteType::uint8: return zero >= 0 && zero <= 255;
    case TfliteType::int16: return zero >= -32768 && zero <= 32767;
    default: return zero >= INT32_MIN && zero <= INT32_MAX;
  }
}

class Tensors {
 public:
  Tensors(const wire::Model& root, uint64_t file_bytes) : root_(root), file_bytes_(file_bytes) {}

  Result<std::vector<TfliteTensor>> run(const wire::SubGraph& graph) {
    std::vector<TfliteTensor> tensors;
    const size_t count = size_of(graph.tensors());
    if (count > kTfliteTensorsMax) return too_many("tensors", count, kTfliteTensorsMax);
    std::set<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      const wire::Tensor& from = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
      TfliteTensor tensor;
      tensor.name = taken_name(name_or(from.name(), "tensor", kTfliteNameBytesMax), i, names);
      if (const Status read = read_tensor(from, tensor); !read) {
        return read.error().with_context("tensor " + std::to_string(i) + " (" + tensor.name + ")");
      }
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  Status read_tensor(const wire::Tensor& from, TfliteTensor& tensor) {
    if (!is_known(from.type())) {
      return Error(ErrorCode::invalid_argument,
                   "is of type " + std::to_string(from.type()) + " of the format, which is not read");
    }
    tensor.type = static_cast<TfliteType>(from.type());
    tensor.is_variable = from.is_variable();
    if (from.sparsity() != nullptr) {
      return Error(ErrorCode::invalid_argument, "is sparse: convert the model with dense weights");
    }
    COT_ASSIGN(const uint64_t elements, read_shape(from, tensor));
    COT_TRY(read_grid(from.quantization(), tensor));
    return read_data(from.buffer(), elements, tensor);
  }

  static Result<uint64_t> read_shape(const wire::Tensor& from, TfliteTensor& tensor) {
    if (size_of(from.shape()) > limits::kModelRankMax) {
      return Error(ErrorCode::too_large, "has more than 8 dimensions");
    }
    uint64_t elements = 1;
    for (size_t i = 0; i < size_of(from.shape()); ++i) {
      const int32_t dimension = from.shape()->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (dimension < 1) return malformed("has a dimension of " + std::to_string(dimension));
      if (__builtin_mul_overflow(elements, static_cast<uint64_t>(dimension), &elements) || elements > 1ull << 40) {
        return Error(ErrorCode::too_large, "has more than 2^40 elements");
      }
      tensor.shape.push_back(dimension);
    }
    tensor.open.assign(tensor.shape.size(), false);
    if (size_of(from.shape_signature()) == 0) return elements;
    if (from.shape_signature()->size() != tensor.shape.size()) {
      return malformed("has a shape_signature of another rank than its shape");
    }
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      const int32_t said = from.shape_signature()->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (said != -1 && said != tensor.shape[i]) return malformed("has a shape_signature that is not its shape");
      tensor.open[i] = said == -1;
    }
    return elements;
  }

  Status read_grid(const wire::Quantisation* from, TfliteTensor& tensor) {
    if (from == nullptr) return {};
    if (from->details_type() != 0) {
      return Error(ErrorCode::invalid_argument, "has a quantisation that is none of scales and zero points");
    }
    const size_t count = size_of(from->scale());
    if (count == 0) return {};  // the range of a float tensor
    scales_ += count;
    if (scales_ > kTfliteScalesMax) return too_many("scales", scales_, kTfliteScalesMax);
    const int32_t axis = from->quantized_dimension();
    if (count > 1) {
      if (axis < 0 || static_cast<size_t>(axis) >= tensor.shape.size() ||
          static_cast<uint64_t>(tensor.shape[static_cast<size_t>(axis)]) != count) {
        return malformed("has " + std::to_string(count) + " scales, which are not one a place on dimension " +
                         std::to_string(axis));
      }
      tensor.grid.axis = static_cast<uint32_t>(axis);
    }
    if (size_of(from->zero_point()) != count && size_of(from->zero_point()) > 1) {
      return malformed("has not as many zero points as scales");
    }
    for (size_t i = 0; i < count; ++i) {
      const float scale = from->scale()->Get(static_cast<flatbuffers::uoffset_t>(i));
      // Converters write 0 for a channel that is all zeros.
      if (!(std::isfinite(scale) && scale >= 0)) return malformed("has a scale that is not above 0");
      const size_t at = size_of(from->zero_point()) == count ? i : 0;
      const int64_t zero = size_of(from->zero_point()) == 0 ? 0 : number_at(*from->zero_point(), at);
      if (!is_zero_of(tensor.type, zero)) return malformed("has a zero point that is no number of its type");
      tensor.grid.scales.push_back(scale);
      tensor.grid.zeros.push_back(zero);
    }
    return {};
  }

  Status read_data(uint32_t buffer, uint64_t elements, TfliteTensor& tensor) {
    if (buffer >= size_of(root_.buffers())) {
      if (buffer == 0) return {};
      return malformed("has buffer " + std::to_string(buffer) + ", of which there are " +
                       std::to_string(size_of(root_.buffers())));
    }
    const wire::Buffer& from = *root_.buffers()->Get(buffer);
    if (from.offset() > 1 || from.size() > 1) {
      return Error(ErrorCode::invalid_argument,
                   "keeps its data outside of the FlatBuffer: models above 2 GiB are not read");
    }
    const size_t size = size_of(from.data());
    if (size == 0) return {};
    if (size != elements * width_of(tensor.type)) {
      return malformed("has " + std::to_string(size) + " bytes, its shape needs " +
                       std::to_string(elements * width_of(tensor.type)));
    }
    constants_ += size;
    if (constants_ > kTfliteSharedMax * file_bytes_) {
      return Error(ErrorCode::too_large, "shares its data with so many others that the constants are more than " +
                                             std::to_string(kTfliteSharedMax) + " times as large as the file");
    }
    tensor.data = {from.data()->data(), size};
    return {};
  }

  const wire::Model& root_;
  const uint64_t file_bytes_;
  size_t scales_ = 0;
  uint64_t constants_ = 0;
};

}  // namespace

Result<std::vector<TfliteTensor>> read_tensors(const tflite_wire::Model& root, const tflite_wire::SubGraph& graph,
                                               uint64_t file_bytes) {
  return Tensors(root, file_bytes).run(graph);
}

}  // namespace coterie::model_import
