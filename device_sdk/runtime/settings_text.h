// SettingsText: the settings of a step as people read them, "kernel 3x3, stride 2x2, relu". Pure.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "train_kernels/shapes.h"

namespace coterie {

class SettingsText {
 public:
  // A word of its own: "relu". An empty one adds nothing.
  SettingsText& add(std::string_view word);
  SettingsText& add(std::string_view name, std::string_view value);
  SettingsText& add(std::string_view name, double value);  // as short as %g writes it
  template <std::integral Number>
  SettingsText& add(std::string_view name, Number value) {
    return add(name, std::string_view(std::to_string(value)));
  }
  // "stride 2x1": height and width.
  SettingsText& add(std::string_view name, size_t height, size_t width);
  // "padding 1,1,1,1": above, left, below, right; nothing without any.
  SettingsText& add_padding(size_t top, size_t left, size_t bottom, size_t right);
  SettingsText& add(kernels::Activation activation);  // none adds nothing

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace coterie
