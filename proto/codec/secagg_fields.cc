#include "proto/codec/secagg_fields.h"

#include <algorithm>
#include <functional>

namespace coterie::flat {

Result<uint32_t> roster_place(uint32_t device, std::string_view name, uint32_t size) {
  if (device >= size) {
    return out_of_range(name, "must be below " + std::to_string(size) + ", is " + std::to_string(device));
  }
  return device;
}

Result<uint32_t> roster_size(uint32_t size) {
  if (size < kRosterSizeMin || size > kRosterSizeMax) {
    return out_of_range("size", "must be in [" + std::to_string(kRosterSizeMin) + ", " +
                                    std::to_string(kRosterSizeMax) + "], is " + std::to_string(size));
  }
  return size;
}

Result<std::vector<uint32_t>> devices(const Vector<uint32_t>* field, std::string_view name, size_t count_min,
                                      uint32_t size) {
  const size_t count = field == nullptr ? 0 : field->size();
  if (count < count_min || count > limits::kNeighboursMax) {
    return out_of_range(name, "must be " + std::to_string(count_min) + " to " + std::to_string(limits::kNeighboursMax) +
                                  " devices, are " + std::to_string(count));
  }
  std::vector<uint32_t> devices;
  if (count == 0) return devices;
  devices.assign(field->begin(), field->end());
  if (std::adjacent_find(devices.begin(), devices.end(), std::greater_equal<>()) != devices.end()) {
    return out_of_range(name, "must ascend strictly");
  }
  COT_TRY(roster_place(devices.back(), name, size));
  return devices;
}

Status is_not_among(uint32_t device, std::span<const uint32_t> devices, std::string_view name) {
  if (!std::binary_search(devices.begin(), devices.end(), device)) return {};
  return out_of_range(name, "must not have the device itself");
}

Status has_elements(const Vector<uint8_t>* field, std::string_view name, size_t count, size_t element_bytes) {
  const size_t bytes = field == nullptr ? 0 : field->size();
  if (bytes != count * element_bytes) {
    return out_of_range(name, "must have " + std::to_string(element_bytes) + " bytes for each of " +
                                  std::to_string(count) + ", has " + std::to_string(bytes));
  }
  return {};
}

Offset<Vector<uint32_t>> vector(FlatBufferBuilder& builder, std::span<const uint32_t> values) {
  return builder.CreateVector(values.data(), values.size());
}

Result<std::vector<Digest>> digests(const Vector<const wire::Digest32*>* field, std::string_view name,
                                    size_t count_max) {
  std::vector<Digest> values;
  if (field == nullptr) return values;
  if (field->size() > count_max) {
    return out_of_range(
        name, "must have at most " + std::to_string(count_max) + " digests, has " + std::to_string(field->size()));
  }
  values.reserve(field->size());
  for (const wire::Digest32* value : *field) values.push_back(digest(*value));
  return values;
}

Offset<Vector<const wire::Digest32*>> vector(FlatBufferBuilder& builder, std::span<const Digest> values) {
  std::vector<wire::Digest32> structs;
  structs.reserve(values.size());
  for (const Digest& value : values) structs.push_back(digest(value));
  return builder.CreateVectorOfStructs(structs);
}

Offset<wire::SurvivorSet> build(FlatBufferBuilder& builder, const SurvivorSet& survivors) {
  return wire::CreateSurvivorSet(builder, survivors.size, vector(builder, ByteView(survivors.bits)));
}

// Bits beyond the roster would let one set have several forms, and so several signed digests.
Result<SurvivorSet> parse(const wire::SurvivorSet& table) {
  SurvivorSet survivors;
  COT_ASSIGN(survivors.size, roster_size(table.size()));
  const size_t bytes_needed = (survivors.size + 7) / 8;
  COT_ASSIGN(survivors.bits, bytes(table.bits(), "survivors", bytes_needed, bytes_needed));
  if (survivors.size % 8 != 0 && survivors.bits.back() >> survivors.size % 8 != 0) {
    return out_of_range("survivors", "must have no bit from " + std::to_string(survivors.size) + " on");
  }
  return survivors;
}

}  // namespace coterie::flat
