#include "device_sdk/runtime/settings_text.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(SettingsText, PutsACommaBetweenWhatItIsTold) {
  SettingsText text;
  text.add("lstm").add("hidden", 64u).add("rate", 0.25).add("stride", 2, 1);
  EXPECT_EQ(text.text(), "lstm, hidden 64, rate 0.25, stride 2x1");
}

TEST(SettingsText, LeavesOutWhatIsNotSo) {
  SettingsText text;
  text.add("").add(kernels::Activation::none).add_padding(0, 0, 0, 0);
  EXPECT_EQ(text.text(), "");
  text.add(kernels::Activation::relu6).add_padding(1, 0, 1, 0);
  EXPECT_EQ(text.text(), "relu6, padding 1,0,1,0");
}

}  // namespace
}  // namespace coterie
