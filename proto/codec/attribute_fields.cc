#include "proto/codec/attribute_fields.h"

#include <type_traits>

#include "base/text/concat.h"
#include "proto/codec/flat.h"

namespace coterie::flat {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// A field of some op's attributes. One form for all structs, so that what reads and writes fields is there once.
struct Field {
  enum class Type : uint8_t { real, list, flag, byte, word };

  const char* name;
  Type type;
  void* at;

  template <typename T>
  T& as() const {
    return *static_cast<T*>(at);
  }
};

Field::Type type_of(float) { return Field::Type::real; }
Field::Type type_of(const std::vector<int64_t>&) { return Field::Type::list; }
Field::Type type_of(bool) { return Field::Type::flag; }
Field::Type type_of(uint32_t) { return Field::Type::word; }
template <typename T>
Field::Type type_of(T) {  // uint8_t, and enums that are one
  static_assert(sizeof(T) == sizeof(uint8_t));
  return Field::Type::byte;
}

class Fields {
 public:
  explicit Fields(OpAttributes& attributes) {
    std::visit(
        [this]<typename Attributes>(Attributes& own) {
          if constexpr (!std::is_same_v<Attributes, std::monostate>) {
            Attributes::fields(own, [this](const char* name, auto& field) { add(name, type_of(field), &field); });
          }
        },
        attributes);
  }

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  const Field& operator[](size_t i) const { return fields_[i]; }

 private:
  void add(const char* name, Field::Type type, void* at) { fields_.push_back({name, type, at}); }

  std::vector<Field> fields_;
};

// What a field holds that is a number but no `real`.
int64_t integer_in(const Field& field) {
  switch (field.type) {
    case Field::Type::flag: return field.as<bool>();
    case Field::Type::byte: return field.as<uint8_t>();
    default: return field.as<uint32_t>();
  }
}

bool are_equal(const Field& a, const Field& b) {
  if (a.type == Field::Type::real) return a.as<float>() == b.as<float>();
  if (a.type == Field::Type::list) return a.as<std::vector<int64_t>>() == b.as<std::vector<int64_t>>();
  return integer_in(a) == integer_in(b);
}

// A struct of the same type as it is made. The op's kind may say another type: a graph is written as it is, and checked
// by whoever reads it.
OpAttributes defaults_of(const OpAttributes& attributes) {
  return std::visit([]<typename Attributes>(const Attributes&) -> OpAttributes { return Attributes(); }, attributes);
}

Offset<model::Attribute> build_field(FlatBufferBuilder& builder, const Field& field) {
  const auto name = builder.CreateString(field.name);
  if (field.type == Field::Type::real) {
    return model::CreateAttribute(builder, name, 0, static_cast<double>(field.as<float>()));
  }
  if (field.type == Field::Type::list) {
    return model::CreateAttribute(builder, name, 0, 0, builder.CreateVector(field.as<std::vector<int64_t>>()));
  }
  return model::CreateAttribute(builder, name, integer_in(field));
}

Status read_list(const model::Attribute& table, std::vector<int64_t>& numbers) {
  numbers.clear();
  if (table.list() == nullptr) return {};
  if (table.list()->size() > limits::kOpOperandsMax) return Error(ErrorCode::malformed, "has too many numbers");
  for (uint32_t i = 0; i < table.list()->size(); ++i) {
    const int64_t number = element(*table.list(), i);
    if (number < -limits::kModelDimensionMax || number > limits::kModelDimensionMax) {
      return Error(ErrorCode::malformed, "has a number outside [-2^31, 2^31]");
    }
    numbers.push_back(number);
  }
  return {};
}

Status read_field(const model::Attribute& table, const Field& field) {
  if (field.type == Field::Type::list) return read_list(table, field.as<std::vector<int64_t>>());
  if (field.type == Field::Type::real) {
    field.as<float>() = static_cast<float>(table.real());
    return {};
  }
  const int64_t number = table.integer();
  const int64_t most = field.type == Field::Type::flag ? 1 : field.type == Field::Type::byte ? 0xff : 0xffffffff;
  if (number < 0 || number > most) return Error(ErrorCode::malformed, "is out of range");
  if (field.type == Field::Type::flag) field.as<bool>() = number == 1;
  else if (field.type == Field::Type::byte) field.as<uint8_t>() = static_cast<uint8_t>(number);
  else field.as<uint32_t>() = static_cast<uint32_t>(number);
  return {};
}

Status parse_attribute(const model::Attribute& table, const Fields& fields) {
  for (const Field& field : fields) {
    if (table.name()->string_view() == field.name) return read_field(table, field);
  }
  return Error(ErrorCode::malformed, "is unknown to it");
}

}  // namespace

Offset<flatbuffers::Vector<Offset<model::Attribute>>> build_attributes(FlatBufferBuilder& builder, const OpInfo& op) {
  OpAttributes attributes = op.attributes, defaults = defaults_of(op.attributes);
  const Fields fields(attributes), usual(defaults);
  std::vector<Offset<model::Attribute>> list;
  size_t i = 0;
  for (const Field& field : fields) {
    if (!are_equal(field, usual[i++])) list.push_back(build_field(builder, field));
  }
  return list.empty() ? 0 : builder.CreateVector(list);
}

Status parse_attributes(const model::Op& table, OpInfo& op) {
  op.attributes = default_attributes(op.kind);
  if (table.attributes() == nullptr) return {};
  const Fields fields(op.attributes);
  for (const model::Attribute* attribute : *table.attributes()) {
    const Status parsed = parse_attribute(*attribute, fields);
    if (parsed) continue;
    COT_ASSIGN(const std::string name, text(attribute->name(), "attribute name", limits::kTextBytesMax));
    return out_of_range(concat({"op ", op.name}), concat({"attribute ", name, " ", parsed.error().message()}));
  }
  return {};
}

}  // namespace coterie::flat
