#include "fl_server/serving/fit_side.h"

#include <algorithm>

#include "fl_server/serving/infer_rows.h"

namespace coterie {
namespace {

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// 0: unknown until a request comes, or too many.
bool is_too_large(const Shape& shape) {
  uint64_t count = 1;
  for (const int64_t size : shape) {
    if (size == kAnySize) return false;
    if (static_cast<uint64_t>(size) > kStepElementsMax / count) return true;
    count *= static_cast<uint64_t>(size);
  }
  return false;
}

}  // namespace

void SideFitter::give(const std::string& name, const ValueType& type) {
  places_.emplace(name, side_.types.size());
  side_.types.push_back(type);
  owners_.push_back("input " + shown_name(name));
  used_.push_back(false);
  ++side_.given;
}

void SideFitter::offer(const std::string& name, const ValueType& type) {
  give(name, type);
  used_.back() = true;
}

Result<size_t> SideFitter::place_of(const std::string& name) const {
  if (const auto found = places_.find(name); found != places_.end()) return found->second;
  std::string names;
  for (const auto& [other, place] : places_) names += (names.empty() ? "" : ", ") + shown_name(other);
  return wrong("there is no value " + shown_name(name) + " before it; there are " + (names.empty() ? "none" : names));
}

Status SideFitter::add(const std::string& name, const ServingStep& step, const std::string& from) {
  const std::string who = "step " + shown_name(name);
  std::vector<std::string> sources = step.sources();
  if (!sources.empty() && !from.empty()) return wrong(who + " takes columns by their names, and no \"from\"");
  if (sources.empty()) sources = {from};
  StepCall call{.name = name, .step = &step, .from = {}, .to = side_.types.size(), .parts = 0};
  std::vector<ValueType> types;
  for (const std::string& source : sources) {
    const Result<size_t> place = place_of(source);
    if (!place) return place.error().with_context(who);
    call.from.push_back(*place);
    types.push_back(side_.types[*place]);
    used_[*place] = true;
  }
  Result<std::vector<StepPart>> parts = step.fit(types);
  if (!parts) return parts.error().with_context(who + (sources.size() == 1 ? ": " + shown_name(sources[0]) : ""));
  for (const StepPart& part : *parts) {
    const std::string value = part.part.empty() ? name : name + "." + part.part;
    if (is_too_large(part.type.shape)) {
      return Error(ErrorCode::too_large, who + ": gives " + shown_type(part.type) + ", of at most " +
                                             std::to_string(kStepElementsMax) + " elements");
    }
    if (!places_.emplace(value, side_.types.size()).second)
      return wrong(who + ": there is a value " + shown_name(value) + " before it");
    side_.types.push_back(part.type);
    owners_.push_back(who);
    used_.push_back(false);
  }
  call.parts = parts->size();
  side_.calls.push_back(std::move(call));
  return {};
}

Result<ValueType> SideFitter::take(const std::string& name) {
  COT_ASSIGN(const size_t place, place_of(name));
  used_[place] = true;
  side_.taken.push_back(place);
  return side_.types[place];
}

Status SideFitter::check_used() const {
  for (size_t i = 0; i < used_.size(); ++i) {
    const auto is_used = [&](size_t other) { return owners_[other] == owners_[i] && used_[other]; };
    bool is_any = false;
    for (size_t other = 0; other < used_.size(); ++other) is_any = is_any || is_used(other);
    if (!is_any) return wrong(owners_[i] + ": nothing uses it");
  }
  return {};
}

}  // namespace coterie
