// Attributes of ops in model files: each field that differs from its default, by name. Private to model_codec.cc.
#pragma once

#include "base/result.h"
#include "proto/generated/model_generated.h"
#include "proto/messages/model.h"

namespace coterie::flat {

// None for an op that has all of its defaults.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<model::Attribute>>> build_attributes(
    flatbuffers::FlatBufferBuilder& builder, const OpInfo& op);

// Sets op.attributes, of op.kind. Errors: malformed (a field that this kind has not, or a value that is none of its).
Status parse_attributes(const model::Op& table, OpInfo& op);

}  // namespace coterie::flat
