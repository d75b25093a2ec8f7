// Fields that several messages of secure aggregation have. Private to proto/codec.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "proto/codec/flat.h"
#include "proto/generated/secagg_generated.h"
#include "proto/messages/secagg.h"

namespace coterie::flat {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;

// Below `size`: of the roster, or kRosterSizeMax where the message does not tell it.
Result<uint32_t> roster_place(uint32_t device, std::string_view name, uint32_t size = kRosterSizeMax);
Result<uint32_t> roster_size(uint32_t size);

// Strictly ascending, each below `size`, count_min to kNeighboursMax of them.
Result<std::vector<uint32_t>> devices(const Vector<uint32_t>* field, std::string_view name, size_t count_min = 0,
                                      uint32_t size = kRosterSizeMax);
Status is_not_among(uint32_t device, std::span<const uint32_t> devices, std::string_view name);

// Element i of a flat vector of arrays of N bytes; element_count has said that it is there.
template <size_t N>
std::array<uint8_t, N> array_at(const Vector<uint8_t>* field, size_t i) {
  std::array<uint8_t, N> value;
  std::memcpy(value.data(), field->Data() + i * N, N);
  return value;
}
// That `field` is `count` times element_bytes long.
Status has_elements(const Vector<uint8_t>* field, std::string_view name, size_t count, size_t element_bytes);

Offset<Vector<uint32_t>> vector(FlatBufferBuilder& builder, std::span<const uint32_t> values);

Result<std::vector<Digest>> digests(const Vector<const wire::Digest32*>* field, std::string_view name,
                                    size_t count_max);
Offset<Vector<const wire::Digest32*>> vector(FlatBufferBuilder& builder, std::span<const Digest> values);

Offset<wire::KeyAdvert> build(FlatBufferBuilder& builder, const KeyAdvert& advert);
Result<KeyAdvert> parse(const wire::KeyAdvert& table);

Offset<wire::SurvivorSet> build(FlatBufferBuilder& builder, const SurvivorSet& survivors);
Result<SurvivorSet> parse(const wire::SurvivorSet& table);

}  // namespace coterie::flat
