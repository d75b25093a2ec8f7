#include "tools/data/digits.h"

#include <gmock/gmock.h>

#include <string>

#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie {
namespace {

using testing::ElementsAre;

// A line of 64 pixels and a label.
std::string line_of(const std::string& pixel, const std::string& label) {
  std::string line;
  for (int i = 0; i < 64; ++i) line += pixel + ",";
  return line + label + "\n";
}

TEST(Digits, AreTheFileThatTheReadmeNames) {
  const std::string folder = test::source_dir() + "/examples/digits/";
  const auto file = os::read_file(folder + "digits.csv.gz", 1 << 20);
  const auto readme = os::read_file(folder + "README.md", 1 << 20);
  ASSERT_OK(file);
  ASSERT_OK(readme);
  EXPECT_NE(as_text(*readme).find("`" + sha256(*file).hex() + "`"), std::string_view::npos);
}

TEST(Digits, AreBuiltIntoTheProgramToTheLastPixel) {
  const LabelledImages digits = built_in_digits();
  EXPECT_EQ(digits.size(), 1797u);
  EXPECT_THAT(digits.shape, ElementsAre(8, 8, 1));
  std::vector<uint32_t> all(digits.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_THAT(count_labels(to_table(digits), all), ElementsAre(178, 182, 177, 183, 181, 182, 181, 179, 174, 180));
  Bytes labels;
  for (const int32_t label : digits.labels) labels.push_back(static_cast<uint8_t>(label));
  EXPECT_EQ(sha256(digits.pixels).hex(), "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3");
  EXPECT_EQ(sha256(labels).hex(), "8ba4f891220f5e4c9c819638d1602d74b83618f167043c6da52a2a247841ddf0");
}

TEST(Digits, BecomeADataSetOfGreyFromZeroToOne) {
  const auto digits = parse_digits(line_of("0", "3") + line_of("16", "4") + line_of("4", "5"));
  ASSERT_OK(digits);
  auto examples = DatasetSource::load(dataset_file(to_table(*digits), std::vector<uint32_t>{2, 1}));
  ASSERT_OK(examples);
  ASSERT_EQ(examples->size(), 2u);
  std::vector<float> grey(64);
  int32_t label = 0;
  ASSERT_TRUE(examples->read(0, grey, label));
  EXPECT_EQ(label, 5);
  EXPECT_THAT(grey, testing::Each(0.25f));
  ASSERT_TRUE(examples->read(1, grey, label));
  EXPECT_EQ(label, 4);
  EXPECT_THAT(grey, testing::Each(1.0f));
}

TEST(Digits, MayEndTheirLinesAsWindowsDoesAndLackTheLastEnd) {
  std::string csv = line_of("1", "9");
  csv.pop_back();
  EXPECT_OK(parse_digits(csv));
  EXPECT_OK(parse_digits(csv + "\r\n" + csv + "\r"));
}

TEST(Digits, SayInWhichLineSomethingIsWrong) {
  const std::string good = line_of("1", "9");
  EXPECT_ERROR(parse_digits(""), ErrorCode::malformed, "holds no digits");
  EXPECT_ERROR(parse_digits(good + line_of("17", "9")), ErrorCode::malformed, "line 2 has a pixel of 17");
  EXPECT_ERROR(parse_digits(line_of("1", "10")), ErrorCode::malformed, "line 1 has label 10");
  EXPECT_ERROR(parse_digits(good + "\n"), ErrorCode::malformed, "line 2 holds something that is not a small number");
  EXPECT_ERROR(parse_digits(line_of("100", "1")), ErrorCode::malformed, "line 1 holds something");
  EXPECT_ERROR(parse_digits(line_of("-1", "1")), ErrorCode::malformed, "line 1 holds something");
  EXPECT_ERROR(parse_digits(line_of("1;", "1")), ErrorCode::malformed, "does not separate its numbers with commas");
  EXPECT_ERROR(parse_digits("1," + good), ErrorCode::malformed, "line 1 has 66 numbers, expected 65");
  EXPECT_ERROR(parse_digits(good + "1,2\n"), ErrorCode::malformed, "line 2 has 2 numbers, expected 65");
}

}  // namespace
}  // namespace coterie
