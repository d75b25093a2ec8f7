#include "tools/attack/attack.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/assert.h"
#include "base/random.h"

namespace coterie {
namespace {

constexpr std::string_view kNames[] = {"none", "label_flip", "sign_flip",   "gaussian",
                                       "alie", "ipm",        "replacement", "free_rider"};
constexpr float kSignFactor = -5, kHonestFactor = -0.5f, kDeviations = 1.5f;
constexpr double kNoise = 0.1;
constexpr double kShareMax = 0.5;

constexpr std::string_view kDrawn = ",drawn";

Error needs_a_simulation(const std::string& what, const char* why) {
  return Error(ErrorCode::invalid_argument, what + " " + why + ": `coterie simulate --attack` has it");
}
Error needs_a_simulation(AttackKind kind) {
  return needs_a_simulation(std::string(to_string(kind)),
                            "is made of what the others send, which a device does not see");
}

}  // namespace

std::string_view to_string(AttackKind kind) { return kNames[static_cast<size_t>(kind)]; }

// As of 0.2 x 25, which in binary is a little less than 5.
uint32_t Attack::liars_of(uint32_t devices) const { return static_cast<uint32_t>(std::floor(share * devices + 1e-9)); }

Result<Attack> parse_attack(std::string_view text) {
  const size_t colon = text.find(':');
  const auto name = std::find(std::begin(kNames) + 1, std::end(kNames), text.substr(0, colon));
  Attack attack;
  std::string_view share = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  attack.is_drawn = share.ends_with(kDrawn);
  if (attack.is_drawn) share.remove_suffix(kDrawn.size());
  const auto end = std::from_chars(share.data(), share.data() + share.size(), attack.share);
  const bool is_number = end.ec == std::errc() && end.ptr == share.data() + share.size();
  if (name == std::end(kNames) || !is_number || !(attack.share > 0 && attack.share <= kShareMax)) {
    std::string kinds;
    for (auto kind = std::begin(kNames) + 1; kind != std::end(kNames); ++kind) kinds += " " + std::string(*kind);
    return Error(
        ErrorCode::invalid_argument,
        "an attack is KIND:SHARE or KIND:SHARE,drawn, such as sign_flip:0.2, with a share in (0, 0.5]; kinds:" + kinds);
  }
  attack.kind = static_cast<AttackKind>(name - std::begin(kNames));
  return attack;
}

std::string to_string(const Attack& attack) {
  if (!attack.is_on()) return "none";
  char text[32];
  return std::string(to_string(attack.kind)) + ":" +
         std::string(text, std::to_chars(text, text + sizeof text, attack.share).ptr) +
         std::string(attack.is_drawn ? kDrawn : "");
}

Result<Attack> parse_device_attack(std::string_view text) {
  COT_ASSIGN(const Attack attack, parse_attack(text));
  if (needs_others(attack.kind)) return needs_a_simulation(attack.kind);
  if (attack.is_drawn)
    return needs_a_simulation(to_string(attack), "has other liars in each round, and a process lies in all");
  return attack;
}

Result<Lie> parse_lie(std::string_view text) {
  const size_t colon = text.find(':');
  const auto name = std::find(std::begin(kNames) + 1, std::end(kNames), text.substr(0, colon));
  Lie lie;
  const std::string_view updates = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  const auto end = std::from_chars(updates.data(), updates.data() + updates.size(), lie.updates);
  if (name == std::end(kNames) || end.ec != std::errc() || end.ptr != updates.data() + updates.size()) {
    return Error(ErrorCode::invalid_argument, "a lie is KIND:UPDATES, such as replacement:10");
  }
  lie.kind = static_cast<AttackKind>(name - std::begin(kNames));
  if (needs_others(lie.kind)) return needs_a_simulation(lie.kind);
  return lie;
}

std::string to_string(const Lie& lie) { return std::string(to_string(lie.kind)) + ":" + std::to_string(lie.updates); }

bool flips_labels(AttackKind kind) { return kind == AttackKind::label_flip || kind == AttackKind::replacement; }
bool needs_others(AttackKind kind) { return kind == AttackKind::alie || kind == AttackKind::ipm; }

HonestMoments moments_of(std::span<const std::span<const float>> honest) {
  COT_ASSERT(!honest.empty());
  const auto count = static_cast<double>(honest.size());
  HonestMoments moments;
  for (size_t i = 0; i < honest[0].size(); ++i) {
    double mean = 0, squares = 0;
    for (const auto& update : honest) mean += static_cast<double>(update[i]) / count;
    for (const auto& update : honest) squares += std::pow(static_cast<double>(update[i]) - mean, 2);
    moments.mean.push_back(static_cast<float>(mean));
    moments.deviation.push_back(static_cast<float>(std::sqrt(squares / count)));
  }
  return moments;
}

void forge(AttackKind kind, const HonestMoments& honest, uint64_t updates, uint64_t seed, std::span<float> delta) {
  Prng prng(seed);
  for (size_t i = 0; i < delta.size(); ++i) {
    switch (kind) {
      case AttackKind::none:
      case AttackKind::label_flip: break;
      case AttackKind::sign_flip: delta[i] *= kSignFactor; break;
      case AttackKind::gaussian: delta[i] = static_cast<float>(kNoise * prng.normal()); break;
      case AttackKind::alie: delta[i] = honest.mean[i] - kDeviations * honest.deviation[i]; break;
      case AttackKind::ipm: delta[i] = kHonestFactor * honest.mean[i]; break;
      case AttackKind::replacement: delta[i] *= static_cast<float>(updates); break;
      case AttackKind::free_rider: delta[i] = 0; break;
    }
  }
}

}  // namespace coterie
