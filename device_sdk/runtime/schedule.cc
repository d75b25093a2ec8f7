#include "device_sdk/runtime/schedule.h"

#include <array>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/text/concat.h"
#include "base/text/number_from_chars.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"constant", "step",      "exponential",
                                                    "cosine",   "one_cycle", "plateau"};
constexpr double kCycleStart = 1.0 / 25, kCycleEnd = 1.0 / 250'000, kCycleRise = 0.3;  // PyTorch's defaults
constexpr double kProgress = 1e-4;                                                     // likewise

Error bad(std::string_view what) {
  return Error(ErrorCode::invalid_argument, concat({"learning-rate schedule: ", what}));
}

// From `from` at 0 to `to` at 1 along half a cosine.
double along_cosine(double from, double to, double at) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * at)) / 2;
}

// OneCycleLR with its default anneal_strategy, the last step at the end of the cycle.
double one_cycle(double t, double steps) {
  const double peak = kCycleRise * steps - 1, last = steps - 1;
  if (last <= 0) return 1;
  if (t <= peak) return along_cosine(kCycleStart, 1, t / peak);
  return along_cosine(1, kCycleEnd, std::min(1.0, (t - peak) / (last - peak)));
}

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = number_from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Status set_field(LearningRateSchedule& schedule, std::string_view field) {
  const size_t equals = field.find('=');
  const std::string_view key = field.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : field.substr(equals + 1);
  bool is_known = true, is_number = false;
  if (key == "warmup") is_number = parse_number(value, schedule.warmup_steps);
  else if (key == "period") is_number = parse_number(value, schedule.period);
  else if (key == "gamma") is_number = parse_number(value, schedule.gamma);
  else if (key == "min") is_number = parse_number(value, schedule.min);
  else if (key == "patience") is_number = parse_number(value, schedule.patience);
  else is_known = false;
  if (!is_known) return bad(concat({"knows warmup, period, gamma, min and patience, not ", key}));
  if (!is_number) return bad(concat({key, " needs a number, has \"", value, "\""}));
  return {};
}

}  // namespace

Status check_schedule(const LearningRateSchedule& s) {
  if (static_cast<size_t>(s.kind) >= kNames.size()) return bad("is unknown");
  if (s.period < 1) return bad("period must be at least 1 step");
  if (!(s.gamma > 0 && s.gamma <= 1)) return bad("gamma must be in (0, 1]");
  if (!(s.min >= 0 && s.min <= 1)) return bad("min must be in [0, 1]");
  return {};
}

double learning_rate_factor(const LearningRateSchedule& s, uint64_t step, uint64_t steps, const PlateauState& plateau) {
  if (step < s.warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(s.warmup_steps);
  const auto t = static_cast<double>(step - s.warmup_steps);
  const double left = std::max(1.0, static_cast<double>(steps) - static_cast<double>(s.warmup_steps));
  const auto period = static_cast<double>(s.period);
  const auto gamma = static_cast<double>(s.gamma);
  switch (s.kind) {
    case ScheduleKind::constant: return 1;
    case ScheduleKind::step: return std::pow(gamma, std::floor(t / period));
    case ScheduleKind::exponential: return std::pow(gamma, t / period);
    case ScheduleKind::cosine: return along_cosine(1, static_cast<double>(s.min), std::min(1.0, t / left));
    case ScheduleKind::one_cycle: return one_cycle(t, left);
    case ScheduleKind::plateau: return plateau.factor;
  }
  return 1;
}

void observe_epoch(const LearningRateSchedule& schedule, double loss_mean, PlateauState& state) {
  if (schedule.kind != ScheduleKind::plateau) return;
  if (state.epochs_seen++ == 0 || loss_mean < state.best * (1 - kProgress)) {
    state.best = loss_mean;
    state.epochs_without_progress = 0;
    return;
  }
  if (++state.epochs_without_progress <= schedule.patience) return;
  state.factor *= static_cast<double>(schedule.gamma);
  state.epochs_without_progress = 0;
}

Result<LearningRateSchedule> parse_schedule(std::string_view text) {
  LearningRateSchedule schedule;
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  size_t kind = 0;
  while (kind < kNames.size() && kNames[kind] != name) ++kind;
  if (kind == kNames.size()) {
    return bad(concat({"must be constant, step, exponential, cosine, one_cycle or plateau, is ", name}));
  }
  schedule.kind = static_cast<ScheduleKind>(kind);
  std::string_view fields = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  while (!fields.empty()) {
    const size_t comma = fields.find(',');
    COT_TRY(set_field(schedule, fields.substr(0, comma)));
    fields = comma == std::string_view::npos ? "" : fields.substr(comma + 1);
  }
  COT_TRY(check_schedule(schedule));
  return schedule;
}

}  // namespace coterie
