// The slope of a function by central differences, which gradients are held against.
#pragma once

namespace coterie::test {

// (f(x + step) - f(x - step)) / (2 step), where `f` reads x from `value`, which is as before behind it. Its error is
// step^2 f''' / 6, and what f is rounded by over 2 step.
template <typename T, typename Function>
double central_difference(T& value, T step, const Function& f) {
  const T kept = value;
  value = kept + step;
  const double above = f();
  value = kept - step;
  const double below = f();
  value = kept;
  return (above - below) / (2 * static_cast<double>(step));
}

}  // namespace coterie::test
