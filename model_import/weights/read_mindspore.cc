#include <algorithm>
#include <map>

#include "model_import/weights/read_weights.h"

namespace coterie::model_import {
namespace {

// Behind the messages, where save_checkpoint was asked for a checksum: this word, and the CRC-32 of all that precedes
// it as 10 bytes, big-endian.
constexpr std::string_view kCrcWord = "crc_num";
constexpr size_t kCrcBytes = 10;
constexpr size_t kNotesMax = 8;

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }
Error bad_message() {
  return malformed("is no MindSpore checkpoint: its protobuf messages are cut short or of another kind");
}

struct TypeName {
  std::string_view name;
  WeightType type;
};
constexpr TypeName kTypes[] = {{"Float32", WeightType::float32}, {"Float64", WeightType::float64},
                               {"Float16", WeightType::float16}, {"BFloat16", WeightType::bfloat16},
                               {"Int64", WeightType::int64},     {"Int32", WeightType::int32},
                               {"Int16", WeightType::int16},     {"Int8", WeightType::int8},
                               {"UInt8", WeightType::uint8},     {"Bool", WeightType::boolean}};

// One field of a message: its number, and what it holds.
struct Field {
  uint64_t number = 0;
  bool is_bytes = false;
  uint64_t integer = 0;
  ByteView bytes;
};

bool take_varint(ByteView& from, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const uint8_t byte = from[0];
    from = from.subspan(1);
    value |= static_cast<uint64_t>(byte & 0x7fu) << shift;
    if (byte < 0x80) return shift < 63 || byte < 2;
  }
  return false;
}

// The next field of a message; one of another wire type than varint and bytes is skipped where its size is known.
bool take_field(ByteView& from, Field& field) {
  uint64_t key = 0;
  if (!take_varint(from, key)) return false;
  field = {.number = key >> 3};
  switch (key & 7) {
    case 0: return take_varint(from, field.integer);
    case 1:
    case 5: {
      const size_t bytes = (key & 7) == 1 ? 8 : 4;
      if (from.size() < bytes) return false;
      from = from.subspan(bytes);
      return true;
    }
    case 2: {
      uint64_t bytes = 0;
      if (!take_varint(from, bytes) || bytes > from.size()) return false;
      field.is_bytes = true;
      field.bytes = from.first(bytes);
      from = from.subspan(bytes);
      return true;
    }
    default: return false;
  }
}

struct Piece {
  std::string type;
  Shape shape;
  ByteView content;
};

Status add_dimension(Piece& piece, uint64_t size) {
  if (piece.shape.size() == kWeightRankMax) return Error(ErrorCode::too_large, "has more than 8 dimensions");
  if (size > kWeightElementsMax) return Error(ErrorCode::too_large, "has more than 2^31 elements");
  piece.shape.push_back(static_cast<int64_t>(size));
  return {};
}

// TensorProto{dims = 1, packed or not; tensor_type = 2; tensor_content = 3}
Result<Piece> read_piece(ByteView message) {
  Piece piece;
  for (Field field; !message.empty();) {
    if (!take_field(message, field)) return bad_message();
    if (field.number == 1 && !field.is_bytes) {
      COT_TRY(add_dimension(piece, field.integer));
    } else if (field.number == 1) {
      for (uint64_t size = 0; !field.bytes.empty();) {
        if (!take_varint(field.bytes, size)) return bad_message();
        COT_TRY(add_dimension(piece, size));
      }
    } else if (field.number == 2 && field.is_bytes) {
      if (field.bytes.size() > kWeightNameBytesMax) return bad_message();
      piece.type = as_text(field.bytes);
    } else if (field.number == 3 && field.is_bytes) {
      piece.content = field.bytes;
    }
  }
  return piece;
}

// A large tensor comes in several values of one tag, each with the whole shape and a part of the elements.
Status add_piece(WeightTable& table, std::map<std::string, size_t>& known, const std::string& tag, const Piece& piece) {
  const auto* const type = std::ranges::find(kTypes, piece.type, &TypeName::name);
  if (type == std::end(kTypes)) {
    if (table.notes.size() < kNotesMax)
      table.notes.push_back(tag + " is of the type " + piece.type + " and was left out");
    return {};
  }
  const auto [place, is_new] = known.emplace(tag, table.tensors.size());
  if (is_new) {
    if (table.tensors.size() == kWeightTensorsMax) return Error(ErrorCode::too_large, "has more than 65,536 tensors");
    table.tensors.push_back({.name = tag, .type = type->type, .shape = piece.shape});
  }
  WeightTensor& tensor = table.tensors[place->second];
  if (tensor.type != type->type || tensor.shape != piece.shape) {
    return malformed("has parts of " + tag + " that differ in type or shape");
  }
  tensor.content.parts.push_back(piece.content);
  tensor.content.plain_bytes += piece.content.size();
  return {};
}

// Takes the checksum off, if there is one.
Status check_crc(ByteView& file) {
  const size_t bytes = kCrcWord.size() + kCrcBytes;
  if (file.size() < bytes || as_text(file.last(bytes)).substr(0, kCrcWord.size()) != kCrcWord) return {};
  uint64_t written = 0;
  for (const uint8_t byte : file.last(kCrcBytes)) written = written << 8 | byte;
  const ByteView checked = file.first(file.size() - bytes);
  if (written != crc32_of(checked)) {
    return Error(ErrorCode::data_loss, "fails its checksum: the file was damaged");
  }
  file = checked;
  return {};
}

}  // namespace

Result<WeightTable> read_mindspore(ByteView file) {
  COT_TRY(check_crc(file));
  WeightTable table{.format = WeightFormat::mindspore, .tensors = {}, .notes = {}};
  std::map<std::string, size_t> known;
  for (Field field; !file.empty();) {
    if (!take_field(file, field) || field.number != 1 || !field.is_bytes) return bad_message();
    std::string tag;
    std::optional<ByteView> tensor;
    for (ByteView value = field.bytes; !value.empty();) {
      if (!take_field(value, field)) return bad_message();
      if (!field.is_bytes) continue;
      if (field.number == 1) {
        if (field.bytes.size() > kWeightNameBytesMax) return bad_message();
        tag = as_text(field.bytes);
      }
      if (field.number == 2) tensor = field.bytes;
    }
    if (tag.empty() || !tensor) return bad_message();
    Result<Piece> piece = read_piece(*tensor);
    if (!piece) return piece.error().with_context(tag);
    COT_TRY(add_piece(table, known, tag, *piece));
  }
  if (table.tensors.empty()) return bad_message();
  for (WeightTensor& tensor : table.tensors) {
    // One number is written with the shape [0].
    if (tensor.shape == Shape{0} && tensor.content.plain_bytes != 0) tensor.shape.clear();
    tensor.strides = plain_strides(tensor.shape);
    uint64_t expected = element_bytes(tensor.type);
    const Status checked = check_tensor(tensor);
    if (!checked) return checked.error().with_context(tensor.name);
    for (const int64_t size : tensor.shape) expected *= static_cast<uint64_t>(size);
    if (tensor.content.plain_bytes != expected) {
      return malformed(tensor.name + " has " + std::to_string(tensor.content.plain_bytes) + " bytes, expected " +
                       std::to_string(expected) + " for its shape");
    }
  }
  COT_TRY(check_table(table));
  return table;
}

}  // namespace coterie::model_import
