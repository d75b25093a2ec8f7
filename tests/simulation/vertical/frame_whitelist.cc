#include "tests/simulation/vertical/frame_whitelist.h"

#include <algorithm>
#include <initializer_list>

namespace coterie::simulation {
namespace {

using vertical::StageId;

bool among(uint16_t kind, std::initializer_list<uint16_t> kinds) { return std::ranges::count(kinds, kind) > 0; }

// Numbers of tree_messages.h, regression_messages.h, exact_messages.h and split_messages.h: on the wire, so that they
// stay.
bool is_training(const VerticalManifest& manifest, bool is_label, uint16_t kind) {
  if (manifest.is_exact()) return is_label ? among(kind, {200, 203, 205}) : among(kind, {201, 202, 204});
  switch (manifest.model) {
    case VerticalModel::trees:
      if (kind == 107) return is_label && manifest.trees.goss.has_value();
      return is_label ? among(kind, {100, 102, 104, 106}) : among(kind, {101, 103, 105});
    case VerticalModel::logistic: return is_label ? among(kind, {1, 2, 3, 5, 7, 9}) : among(kind, {1, 2, 4, 6, 8});
    case VerticalModel::linear: return is_label ? among(kind, {1, 2, 9, 13}) : among(kind, {1, 2, 11, 12});
    case VerticalModel::split: return is_label ? kind == 2 : kind == 1;
  }
  return false;
}

bool is_prediction(VerticalModel model, bool is_label, uint16_t kind) {
  switch (model) {
    case VerticalModel::trees: return is_label ? kind == 110 : kind == 111;
    case VerticalModel::logistic:
    case VerticalModel::linear: return !is_label && kind == 10;
    case VerticalModel::split: return !is_label && kind == 3;
  }
  return false;
}

// The lists go to the party behind, and the matches come back.
bool is_ring_matching(Way way, vertical::PartyIndex parties, uint16_t kind) {
  const bool is_behind = way.to == (way.from + 1) % parties, is_before = way.from == (way.to + 1) % parties;
  return among(kind, {1, 5}) || (kind == 2 && is_behind) || (kind == 4 && is_before);
}

}  // namespace

bool is_on_list(const VerticalManifest& manifest, Way way, StageId stage, uint16_t kind) {
  const auto parties = static_cast<vertical::PartyIndex>(manifest.parties.size());
  const bool is_matched = stage == StageId::matching && manifest.is_ring();
  if (way.to == vertical::kMatcher) return is_matched && among(kind, {6, 7});
  if (way.from == vertical::kMatcher) return is_matched && kind == 4;
  const bool is_label = way.from == 0;
  const bool is_star = is_label || way.to == 0;
  if (is_matched) return is_ring_matching(way, parties, kind);
  if ((stage == StageId::training || stage == StageId::prediction) && !is_star) return false;
  switch (stage) {
    case StageId::hello: return among(kind, {1, 2});
    case StageId::matching: return is_label ? among(kind, {1, 2, 4, 5}) : among(kind, {1, 2, 3, 5});
    case StageId::training: return is_training(manifest, is_label, kind);
    case StageId::prediction: return is_prediction(manifest.model, is_label, kind);
    case StageId::farewell: return kind == 1;
    case StageId::alive: return false;  // a link's own: no stage has such a message
  }
  return false;
}

}  // namespace coterie::simulation
