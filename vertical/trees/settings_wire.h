// TreeSettings as bytes, in messages and model files.
#pragma once

#include "vertical/stage/wire.h"
#include "vertical/trees/tree_settings.h"

namespace coterie::vertical {

// Bits of the last byte. Behind it lie the rates of a sampling.
inline constexpr uint8_t kFlagLabelPartyFirst = 1, kFlagGoss = 2;

inline void write_settings(WireWriter& writer, const TreeSettings& settings) {
  writer.u8(static_cast<uint8_t>(settings.objective));
  writer.u32(settings.classes);
  writer.u32(settings.rounds);
  writer.u32(settings.depth);
  writer.f32(settings.eta);
  writer.f64(settings.lambda);
  writer.f64(settings.min_child_weight);
  writer.u8(
      static_cast<uint8_t>((settings.label_party_first ? kFlagLabelPartyFirst : 0) | (settings.goss ? kFlagGoss : 0)));
  if (!settings.goss) return;
  writer.f64(settings.goss->top_rate);
  writer.f64(settings.goss->other_rate);
}

// Checked by whoever reads it: check_tree_settings.
inline TreeSettings read_settings(WireReader& reader) {
  TreeSettings settings;
  settings.objective = static_cast<TreeObjective>(reader.u8());
  settings.classes = reader.u32();
  settings.rounds = reader.u32();
  settings.depth = reader.u32();
  settings.eta = reader.f32();
  settings.lambda = reader.f64();
  settings.min_child_weight = reader.f64();
  const uint8_t flags = reader.u8();
  settings.label_party_first = (flags & kFlagLabelPartyFirst) != 0;
  if ((flags & kFlagGoss) != 0) {
    settings.goss.emplace();
    settings.goss->top_rate = reader.f64();
    settings.goss->other_rate = reader.f64();
  }
  return settings;
}

}  // namespace coterie::vertical
