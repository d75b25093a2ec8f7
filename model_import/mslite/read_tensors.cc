#include "model_import/mslite/read_tensors.h"

#include <set>

#include "proto/codec/limits.h"

namespace coterie::model_import {
namespace {

namespace wire = mslite_wire;

constexpr uint64_t kElementsMax = 1ull << 40;

constexpr const char* kWithoutQuantisation = ": convert the model without quantisation, and quantise it here";

Result<MsliteType> type_of(int32_t number) {
  switch (number) {
    case 30:
    case 34:
    case 35:
    case 42:
    case 43: return static_cast<MsliteType>(number);
    case 32: return mslite_refused(std::string("is of int8") + kWithoutQuantisation);
    case 33: return mslite_refused(std::string("is of int16") + kWithoutQuantisation);
    case 37: return mslite_refused(std::string("is of uint8") + kWithoutQuantisation);
    default: return mslite_refused("is of type " + std::to_string(number) + " of the format, which is not read");
  }
}

MsliteLayout layout_of(int32_t number) {
  switch (number) {
    case 0: return MsliteLayout::nchw;
    case 1: return MsliteLayout::nhwc;
    case 7: return MsliteLayout::khwc;
    default: return MsliteLayout::any;
  }
}

class MsliteTensors {
 public:
  MsliteTensors(const wire::Graph& root, uint64_t file_bytes) : root_(root), file_bytes_(file_bytes) {}

  Result<std::vector<MsliteTensor>> run() {
    std::vector<MsliteTensor> tensors;
    const size_t count = size_of(root_.tensors());
    if (count > kMsliteTensorsMax) return too_many("tensors", count, kMsliteTensorsMax);
    std::set<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      const wire::Tensor& from = *root_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
      MsliteTensor tensor;
      tensor.name = taken_name(name_or(from.name(), "tensor", kMsliteNameBytesMax), i, names);
      if (const Status read = read_tensor(from, tensor); !read) {
        return read.error().with_context("tensor " + std::to_string(i) + " (" + tensor.name + ")");
      }
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  Status read_tensor(const wire::Tensor& from, MsliteTensor& tensor) {
    COT_TRY(check_form(from));
    COT_ASSIGN(tensor.type, type_of(from.type()));
    tensor.layout = layout_of(from.layout());
    uint64_t elements = 1;
    const size_t rank = size_of(from.shape());
    if (rank > limits::kModelRankMax) return Error(ErrorCode::too_large, "has more than 8 dimensions");
    for (size_t i = 0; i < rank; ++i) {
      const int32_t dimension = from.shape()->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (dimension < 1 && dimension != -1) return malformed("has a dimension of " + std::to_string(dimension));
      tensor.shape.push_back(dimension);
      const auto size = static_cast<uint64_t>(dimension == -1 ? 1 : dimension);
      if (__builtin_mul_overflow(elements, size, &elements) || elements > kElementsMax) {
        return Error(ErrorCode::too_large, "has more than 2^40 elements");
      }
    }
    return read_data(from, elements, tensor);
  }

  static Status check_form(const wire::Tensor& from) {
    if (from.compression() != 0 || from.is_huffman_coded() || size_of(from.clusters()) > 0) {
      return mslite_refused(std::string("has compressed weights") + kWithoutQuantisation);
    }
    if (size_of(from.external_data()) > 0) {
      return mslite_refused("keeps its data in another file: convert the model into one file");
    }
    return {};
  }

  Status read_data(const wire::Tensor& from, uint64_t elements, MsliteTensor& tensor) {
    const size_t size = size_of(from.data());
    if (size == 0) {
      tensor.has_shape = !tensor.shape.empty();
      return {};
    }
    for (const int64_t dimension : tensor.shape) {
      if (dimension < 1) return malformed("is a constant with a dimension of " + std::to_string(dimension));
    }
    if (size != elements * width_of(tensor.type)) {
      return malformed("has " + std::to_string(size) + " bytes, its shape needs " +
                       std::to_string(elements * width_of(tensor.type)));
    }
    constants_ += size;
    if (constants_ > kMsliteSharedMax * file_bytes_) {
      return Error(ErrorCode::too_large, "shares its data with so many others that the constants are more than " +
                                             std::to_string(kMsliteSharedMax) + " times as large as the file");
    }
    tensor.data = {from.data()->data(), size};
    return {};
  }

  const wire::Graph& root_;
  const uint64_t file_bytes_;
  uint64_t constants_ = 0;
};

}  // namespace

Result<std::vector<MsliteTensor>> read_mslite_tensors(const mslite_wire::Graph& root, uint64_t file_bytes) {
  return MsliteTensors(root, file_bytes).run();
}

}  // namespace coterie::model_import
