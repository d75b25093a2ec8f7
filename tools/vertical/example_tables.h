// examples/vertical/label_party.csv and feature_party.csv, byte for byte: made at build time by embed.cmake.
#pragma once

#include "base/bytes.h"

namespace coterie {

extern const ByteView kLabelPartyBytes;
extern const ByteView kFeaturePartyBytes;

}  // namespace coterie
