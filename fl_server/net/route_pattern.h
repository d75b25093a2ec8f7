// RoutePattern: "/v1/rounds/{round}/updates/{ticket}" against a request's path, segment by segment. Pure; both planes'
// tables of routes are read by it.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace coterie {

inline constexpr size_t kPathParametersMax = 3;  // of one pattern

// The parameters that a path has, by their names in the pattern. Views of both, which outlive it.
class PathParameters {
 public:
  // Empty if the pattern has no such parameter; a parameter that matched is never empty.
  std::string_view operator[](std::string_view name) const;
  void add(std::string_view name, std::string_view value);
  const std::pair<std::string_view, std::string_view>* begin() const { return all_.data(); }
  const std::pair<std::string_view, std::string_view>* end() const { return all_.data() + count_; }

 private:
  std::array<std::pair<std::string_view, std::string_view>, kPathParametersMax> all_{};
  size_t count_ = 0;
};

// Whether the whole path matches. A parameter is a segment's text without '/' and ':', and is not empty. `parameters`
// is of use only after a match. Precondition: at most kPathParametersMax in the pattern.
bool matches_pattern(std::string_view pattern, std::string_view path, PathParameters& parameters);

}  // namespace coterie
