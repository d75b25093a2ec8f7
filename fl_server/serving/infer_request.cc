#include "fl_server/serving/infer_request.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/json/json_scanner.h"
#include "fl_server/serving/base64.h"

namespace coterie {
namespace {

static_assert(std::endian::native == std::endian::little, "binary tensors are copied as they are");

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// An input as it is written; `data` is read once name, datatype and shape are known.
struct WrittenTensor {
  std::optional<std::string> name, datatype;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::string_view> data;
  bool is_read = false;         // data was
  std::optional<size_t> place;  // among the inputs, once it is
  std::optional<uint64_t> binary_bytes;
  std::optional<std::string> content_type;
};

class Reader {
 public:
  Reader(std::string_view json, ByteView binary, const ClientInterface& model, const InferLimits& limits)
      : json_(json), binary_(binary), model_(model), limits_(limits) {}

  Result<InferRequest> read();

 private:
  bool read_member(std::string_view key);
  bool read_input();
  bool read_input_member(std::string_view key, WrittenTensor& tensor);
  bool read_output();
  void settle_forms();
  bool read_parameters(const std::function<bool(std::string_view)>& on_known);
  bool read_shape(std::vector<uint64_t>& shape);
  Status take_tensor(const WrittenTensor& tensor);
  Result<size_t> place_of(const WrittenTensor& tensor);
  bool read_data(WrittenTensor& tensor);
  Status take_data(const TensorInterface& input, JsonScanner& json, TensorValues& values);
  static Status take_base64(const WrittenTensor& tensor, TensorValues& values);
  Status take_binary(const TensorInterface& input, uint64_t bytes, TensorValues& values);
  // Keeps the reason that the scanner has no words for.
  bool refuse(Error error) {
    if (!refusal_) refusal_ = std::move(error);
    return false;
  }
  bool once(bool& seen, std::string_view key) {
    if (!std::exchange(seen, true)) return true;
    return refuse(wrong("\"" + std::string(key) + "\" is given twice"));
  }

  JsonScanner json_;
  ByteView binary_;
  const ClientInterface& model_;
  const InferLimits& limits_;
  InferRequest request_;
  bool outputs_are_binary_ = false;              // the request's binary_data_output
  std::vector<std::optional<bool>> is_binary_ =  // of each output, where it says so itself
      std::vector<std::optional<bool>>(model_.outputs.size());
  std::vector<bool> given_ = std::vector<bool>(model_.inputs.size());
  bool has_id_ = false, has_inputs_ = false, has_outputs_ = false, has_parameters_ = false;
  std::optional<Error> refusal_;
};

// `data`, flat or nested as the shape.
class DataReader {
 public:
  DataReader(JsonScanner& json, ProtocolType type, uint64_t rows, TensorValues& to)
      : json_(json), type_(type), shape_(to.shape), rows_(rows), whole_(rows * elements_of(to.shape)), to_(to) {}

  Status read() {
    if (!level(0)) return json_.error();
    if (size_ != whole_) {
      return wrong("data has " + std::to_string(size_) + " values, its shape has " + std::to_string(whole_));
    }
    return {};
  }

 private:
  uint64_t size_of(size_t dimension) const {
    return dimension == 0 ? rows_ : static_cast<uint64_t>(shape_[dimension - 1]);
  }

  bool level(size_t dimension) {
    if (!json_.take('[')) return json_.fail("data is an array, flat or nested as the shape");
    if (json_.peek() != '[') return values(dimension);
    if (dimension >= shape_.size()) return json_.fail("data is nested deeper than its shape");
    uint64_t count = 0;
    do {
      if (++count > size_of(dimension)) break;
      if (!level(dimension + 1)) return false;
    } while (json_.take(','));
    if (count != size_of(dimension) || !json_.take(']')) {
      return json_.fail("dimension " + std::to_string(dimension) + " of data has not " +
                        std::to_string(size_of(dimension)) + " elements, as the shape says");
    }
    return true;
  }

  bool values(size_t dimension) {
    const uint64_t whole = whole_;
    if (dimension > 0 && dimension != shape_.size()) return json_.fail("data is not nested as deep as its shape");
    const uint64_t from = size_, count_max = dimension == 0 ? whole : from + size_of(dimension);
    if (json_.take(']')) return whole == 0 || json_.fail("data has an empty array");
    do {
      if (size_ >= std::min(count_max, whole)) return json_.fail("data has more values than its shape");
      if (!value()) return false;
    } while (json_.take(','));
    if (!json_.take(']')) return json_.fail("',' or ']' is expected");
    return dimension == 0 || size_ == count_max || json_.fail("data has fewer values than its shape");
  }

  bool value() {
    ++size_;
    switch (type_) {
      case ProtocolType::float32: return json_.number(to_.words.emplace_back());
      case ProtocolType::int32: {
        int32_t number = 0;
        if (!json_.integer32(number)) return false;
        to_.words.push_back(std::bit_cast<float>(number));
        return true;
      }
      case ProtocolType::float64: return json_.number(to_.doubles.emplace_back());
      case ProtocolType::uint8: {
        uint64_t number = 0;
        if (!json_.unsigned_integer(number)) return false;
        to_.pixels.push_back(static_cast<uint8_t>(number));
        return number <= UINT8_MAX || json_.fail("a UINT8 is at most 255");
      }
      case ProtocolType::bytes: return json_.string(to_.texts.emplace_back());
    }
    return false;
  }

  JsonScanner& json_;
  const ProtocolType type_;
  const Shape shape_;
  const uint64_t rows_, whole_;
  uint64_t size_ = 0;  // values so far
  TensorValues& to_;
};

void reserve(ProtocolType type, uint64_t count, TensorValues& values) {
  switch (type) {
    case ProtocolType::float32:
    case ProtocolType::int32: return values.words.reserve(count);
    case ProtocolType::float64: return values.doubles.reserve(count);
    case ProtocolType::uint8: return values.pixels.reserve(count);
    case ProtocolType::bytes: return values.texts.reserve(count);
  }
}

Status Reader::take_data(const TensorInterface& input, JsonScanner& json, TensorValues& values) {
  const uint64_t count = request_.rows * elements_of(values.shape);
  // A value and what parts it from the next take two characters, a string three: so the text pays for the memory.
  if (json.left() / 2 + 1 < count) {
    return wrong("data has fewer values than its shape, which has " + std::to_string(count));
  }
  reserve(input.type, count, values);
  return DataReader(json, input.type, request_.rows, values).read();
}

// The strings of `data` are what stands for the bytes.
Status Reader::take_base64(const WrittenTensor& tensor, TensorValues& values) {
  if (!tensor.content_type || values.texts.empty() || *tensor.content_type == "str") return {};
  if (*tensor.content_type != "base64") {
    return wrong("content_type is " + shown_name(*tensor.content_type) + ", expected base64 or str");
  }
  for (std::string& text : values.texts) {
    COT_ASSIGN(text, decode_base64(text));
  }
  return {};
}

Status Reader::take_binary(const TensorInterface& input, uint64_t bytes, TensorValues& values) {
  const uint64_t count = request_.rows * elements_of(values.shape), expected = count * element_bytes(input.type);
  if (input.type != ProtocolType::bytes && bytes != expected) {
    return wrong("binary_data_size is " + std::to_string(bytes) + ", its shape has " + std::to_string(expected) +
                 " bytes");
  }
  if (bytes > binary_.size()) {
    return wrong("the body ends before its " + std::to_string(bytes) + " bytes of binary data (is " +
                 "Inference-Header-Content-Length right?)");
  }
  const ByteView data = binary_.first(bytes);
  binary_ = binary_.subspan(bytes);
  return take_binary_values(input.type, data, count, values);
}

Result<size_t> Reader::place_of(const WrittenTensor& tensor) {
  const auto named = [&](const TensorInterface& input) { return input.name == *tensor.name; };
  const auto found = std::ranges::find_if(model_.inputs, named);
  if (found == model_.inputs.end()) {
    return wrong("the model has no such input; it takes " + shown_names(model_.inputs));
  }
  const auto index = static_cast<size_t>(found - model_.inputs.begin());
  if (given_[index]) return wrong("it is given twice");
  given_[index] = true;
  if (!tensor.datatype) return wrong("it has no datatype; the model takes " + std::string(protocol_name(found->type)));
  if (*tensor.datatype != protocol_name(found->type)) {
    return wrong("datatype is " + shown_name(*tensor.datatype) + ", the model takes " +
                 std::string(protocol_name(found->type)));
  }
  if (!tensor.shape) return wrong("it has no shape; the model takes " + protocol_shape(found->shape));
  COT_ASSIGN(request_.inputs[index].shape, take_rows(*found, *tensor.shape, limits_, request_.rows));
  return index;
}

// Behind the whole object.
Status Reader::take_tensor(const WrittenTensor& tensor) {
  if (tensor.is_read && !tensor.binary_bytes) return take_base64(tensor, request_.inputs[*tensor.place]);
  if (tensor.is_read || tensor.data.has_value() == tensor.binary_bytes.has_value()) {
    return wrong("it has either data or the parameter binary_data_size, and not both");
  }
  COT_ASSIGN(const size_t index, place_of(tensor));
  const TensorInterface& input = model_.inputs[index];
  if (tensor.binary_bytes) return take_binary(input, *tensor.binary_bytes, request_.inputs[index]);
  JsonScanner text(*tensor.data);
  COT_TRY(take_data(input, text, request_.inputs[index]));
  return take_base64(tensor, request_.inputs[index]);
}

// Read where it stands, if all that it must fit is known by then; otherwise it is passed over, and read at the end.
bool Reader::read_data(WrittenTensor& tensor) {
  if (!tensor.name || !tensor.datatype || !tensor.shape) return json_.skip(tensor.data.emplace());
  const Result<size_t> place = place_of(tensor);
  if (!place) return refuse(place.error().with_context("input " + shown_name(*tensor.name)));
  tensor.is_read = true;
  tensor.place = *place;
  const Status taken = take_data(model_.inputs[*place], json_, request_.inputs[*place]);
  return taken ? true : refuse(taken.error().with_context("input " + shown_name(*tensor.name)));
}

bool Reader::read_shape(std::vector<uint64_t>& shape) {
  return json_.array([&] {
    uint64_t size = 0;
    if (shape.size() == kShapeRankMax) return json_.fail("a shape has at most 16 dimensions");
    if (!json_.unsigned_integer(size)) return false;
    shape.push_back(size);
    return true;
  });
}

// Parameters that are not known are for others: the protocol leaves them open.
bool Reader::read_parameters(const std::function<bool(std::string_view)>& on_known) {
  return json_.object([&](std::string_view key) {
    if (on_known(key)) return true;
    std::string_view ignored;
    return !json_.has_failed() && json_.skip(ignored);
  });
}

bool Reader::read_input_member(std::string_view key, WrittenTensor& tensor) {
  if (key == "name" && !tensor.name) return json_.string(tensor.name.emplace());
  if (key == "datatype" && !tensor.datatype) return json_.string(tensor.datatype.emplace());
  if (key == "shape" && !tensor.shape) return read_shape(tensor.shape.emplace());
  if (key == "data" && !tensor.data && !tensor.is_read) return read_data(tensor);
  if (key == "parameters") {
    return read_parameters([&](std::string_view name) {
      if (name == "content_type") return json_.peek() == '"' && json_.string(tensor.content_type.emplace());
      return name == "binary_data_size" && json_.unsigned_integer(tensor.binary_bytes.emplace());
    });
  }
  return refuse(
      wrong("an input has name, shape, datatype, parameters and data, each once, and not " + shown_name(key)));
}

bool Reader::read_input() {
  WrittenTensor tensor;
  if (!json_.object([&](std::string_view key) { return read_input_member(key, tensor); })) return false;
  if (!tensor.name) return refuse(wrong("an input has no name"));
  const Status taken = take_tensor(tensor);
  return taken ? true : refuse(taken.error().with_context("input " + shown_name(*tensor.name)));
}

bool Reader::read_output() {
  std::string name;
  bool has_name = false, is_classified = false;
  std::optional<bool> is_binary;
  const auto on_member = [&](std::string_view key) {
    if (key == "name") {
      has_name = true;
      return json_.string(name);
    }
    if (key == "parameters") {
      return read_parameters([&](std::string_view parameter) {
        is_classified = is_classified || parameter == "classification";
        return parameter == "binary_data" && json_.boolean(is_binary.emplace());
      });
    }
    return refuse(wrong("an output has name and parameters, and not " + shown_name(key)));
  };
  if (!json_.object(on_member)) return false;
  const auto found = std::ranges::find(model_.outputs, name, &TensorInterface::name);
  if (!has_name || found == model_.outputs.end()) {
    return refuse(wrong("output " + shown_name(name) + ": the model has " + shown_names(model_.outputs) + " alone"));
  }
  const auto place = static_cast<size_t>(found - model_.outputs.begin());
  request_.wanted.resize(model_.outputs.size());
  if (request_.wanted[place]) return refuse(wrong("output " + shown_name(name) + ": it is asked for twice"));
  request_.wanted[place] = true;
  is_binary_[place] = is_binary;
  if (is_classified)
    return refuse(wrong("output " + shown_name(name) + ": the classification extension is not offered"));
  return true;
}

bool Reader::read_member(std::string_view key) {
  if (key == "id") {
    if (!once(has_id_, key) || !json_.string(request_.id.emplace())) return false;
    return request_.id->size() <= kInferIdBytesMax ||
           refuse(Error(ErrorCode::too_large, "id has more than " + std::to_string(kInferIdBytesMax) + " bytes"));
  }
  if (key == "inputs") return once(has_inputs_, key) && json_.array([&] { return read_input(); });
  if (key == "outputs") return once(has_outputs_, key) && json_.array([&] { return read_output(); });
  if (key == "parameters") {
    return once(has_parameters_, key) && read_parameters([&](std::string_view name) {
             if (name == "timeout") return json_.unsigned_integer(request_.timeout_us.emplace());
             return name == "binary_data_output" && json_.boolean(outputs_are_binary_);
           });
  }
  return refuse(wrong("a request has id, parameters, inputs and outputs, and not " + shown_name(key)));
}

// When all was read: "parameters" may stand behind "outputs".
void Reader::settle_forms() {
  std::vector<bool> as_binary;
  for (const std::optional<bool>& said : is_binary_) as_binary.push_back(said.value_or(outputs_are_binary_));
  if (std::ranges::find(as_binary, true) != as_binary.end()) request_.as_binary = std::move(as_binary);
}

Result<InferRequest> Reader::read() {
  request_.inputs.resize(model_.inputs.size());
  const bool good = json_.object([&](std::string_view key) { return read_member(key); }) && json_.end();
  if (refusal_) return *std::move(refusal_);
  if (!good) return json_.error().with_context("the request's JSON");
  for (size_t i = 0; i < given_.size(); ++i) {
    if (!given_[i]) return wrong("input " + shown_name(model_.inputs[i].name) + " is missing");
  }
  if (!binary_.empty()) {
    return wrong(std::to_string(binary_.size()) + " bytes of the body belong to no input's binary_data_size");
  }
  settle_forms();
  return std::move(request_);
}

}  // namespace

Result<InferRequest> parse_infer_request(ByteView body, std::optional<uint64_t> json_bytes,
                                         const ClientInterface& model, const InferLimits& limits) {
  const uint64_t size = json_bytes.value_or(body.size());
  if (size > body.size()) {
    return wrong("Inference-Header-Content-Length is " + std::to_string(size) + ", the body has " +
                 std::to_string(body.size()) + " bytes");
  }
  return Reader(as_text(body.first(size)), body.subspan(size), model, limits).read();
}

}  // namespace coterie
