// Each step against figures of others (Pillow, torchvision) or of a hand's calculation.
#include "fl_server/serving/serving_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "model_io/image_file.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/serving/steps/steps_world.h"
#include "tests/unit/tools/image_files.h"

namespace coterie {
namespace {

using test::after_of;
using test::before_of;
using test::finished;
using test::model_of;
using test::prepared;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<int32_t> integers_of(const TensorValues& values) {
  std::vector<int32_t> integers;
  for (const float word : values.words) integers.push_back(std::bit_cast<int32_t>(word));
  return integers;
}

// Pillow's Image.BILINEAR says 21, 100, 210 of the bytes; torch with antialias=True 21.42857, 100, 210 of the floats.
TEST(Step, ResizesAsPillowAndTorchDo) {
  const std::string cast = R"(,{"name":"last","step":"cast","from":"small","datatype":"FP32"})";
  const std::string resize = R"({"name":"small","step":"resize","from":"x","height":1,"width":3})";
  const auto bytes = prepared(before_of("UINT8", "[1,5,1]", resize + cast), model_of({1, 3, 1}, {1}),
                              {{.shape = {1, 5, 1}, .pixels = {0, 50, 100, 150, 255}}});
  ASSERT_OK(bytes);
  EXPECT_THAT(*bytes, ElementsAre(21, 100, 210));
  const auto floats = prepared(before_of("FP32", "[1,5,1]", resize + cast), model_of({1, 3, 1}, {1}),
                               {{.shape = {1, 5, 1}, .words = {0, 50, 100, 150, 255}}});
  ASSERT_OK(floats);
  EXPECT_THAT(*floats, ElementsAre(FloatNear(21.42857f, 1e-4f), FloatNear(100, 1e-4f), FloatNear(210, 1e-4f)));
}

TEST(Step, ResizesTheShorterSideAndCropsTheCentreAsTorchvisionDoes) {
  // 4 x 9 with the shorter side 4 stays as it is; round((9 - 4) / 2) = 2, halves to the even one.
  const std::string steps = R"({"name":"small","step":"resize","from":"x","shorter_side":4},)"
                            R"({"name":"middle","step":"centre_crop","from":"small","height":1,"width":4},)"
                            R"({"name":"last","step":"cast","from":"middle","datatype":"FP32"})";
  Bytes pixels;
  for (uint8_t i = 0; i < 36; ++i) pixels.push_back(i);
  const std::string json = before_of("UINT8", "[-1,-1,1]", steps);
  const auto cropped = prepared(json, model_of({1, 4, 1}, {1}), {{.shape = {4, 9, 1}, .pixels = pixels}});
  ASSERT_OK(cropped);
  EXPECT_THAT(*cropped, ElementsAre(20, 21, 22, 23)) << "row round(3 / 2) = 2, from its column 2 on";
  EXPECT_ERROR(prepared(json, model_of({1, 4, 1}, {1}), {{.shape = {1, 5000, 1}, .pixels = Bytes(5000)}}),
               ErrorCode::too_large,
               "step \"small\": is 1 x 5000 pixels, whose longer side would be 20000, at most 4096");
}

TEST(Step, DecodesPicturesInColourAndGrey) {
  const test::Halves halves{.height = 1, .width = 2, .left = {255, 0, 0}, .right = {0, 0, 255}};
  const auto decoded = [&](const std::string& channels, const Shape& shape, const std::string& file) {
    const std::string steps = R"({"name":"p","step":"decode_image","from":"x","channels":)" + channels +
                              R"(},{"name":"r","step":"resize","from":"p","height":1,"width":2},)"
                              R"({"name":"last","step":"cast","from":"r","datatype":"FP32"})";
    return prepared(before_of("BYTES", "[]", steps), model_of(shape, {1}), {{.shape = {}, .texts = {file}}});
  };
  const auto colour = decoded("3", {1, 2, 3}, text_of(test::png_file(halves)));
  ASSERT_OK(colour);
  EXPECT_THAT(*colour, ElementsAre(255, 0, 0, 0, 0, 255));
  const auto grey = decoded("1", {1, 2, 1}, text_of(test::png_file(halves)));
  ASSERT_OK(grey);
  EXPECT_THAT(*grey, ElementsAre(76, 29)) << "299 * 255 / 1000 and 114 * 255 / 1000, rounded";
  EXPECT_ERROR(decoded("3", {1, 2, 3}, "GIF89a"), ErrorCode::malformed, "step \"p\": is neither a JPEG nor a PNG file");
}

TEST(Step, RefusesHostilePictures) {
  const std::string steps = R"({"name":"p","step":"decode_image","from":"x","pixels_max":100},)"
                            R"({"name":"r","step":"resize","from":"p","height":2,"width":2},)"
                            R"({"name":"last","step":"scale","from":"r"})";
  const auto refused = [&](const std::string& file) {
    return prepared(before_of("BYTES", "[]", steps), model_of({2, 2, 3}, {1}), {{.shape = {}, .texts = {file}}});
  };
  const test::Halves large{.height = 8, .width = 16, .left = {1, 2, 3}, .right = {4, 5, 6}};
  EXPECT_ERROR(refused(text_of(test::png_file(large))), ErrorCode::too_large,
               "has 8 x 16 pixels, at most 100 are read");
  // A head that claims 65,278 x 65,278 pixels in a few bytes: told before anything is allocated.
  std::string jpeg = text_of(test::jpeg_file({.height = 8, .width = 8, .left = {9}, .right = {200}}));
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (size_t i = 0; i < 4; ++i) jpeg[frame + 5 + i] = static_cast<char>(0xfe);
  EXPECT_ERROR(refused(jpeg), ErrorCode::too_large, "has 65278 x 65278 pixels");
  for (const std::string& bad :
       {std::string(), std::string("\x89PNG"), std::string("\xff\xd8\xff"), jpeg.substr(0, 40)})
    EXPECT_ERROR(refused(bad), ErrorCode::malformed, "step \"p\": ") << bad.size();
}

// Each of these chunks could become 8 MB of memory: they are counted before libpng sees them.
TEST(Step, RefusesAPictureOfManyTexts) {
  const std::string whole = text_of(test::png_file({.height = 2, .width = 2, .left = {9}, .right = {200}}));
  constexpr size_t kHeadBytes = 8 + 25;  // the magic and IHDR
  // Their sums are wrong, so that libpng leaves them out.
  const std::string text("\0\0\0\0zTXt\0\0\0\0", 12);
  const std::string steps = R"({"name":"p","step":"decode_image","from":"x"},)"
                            R"({"name":"r","step":"resize","from":"p","height":2,"width":2},)"
                            R"({"name":"last","step":"scale","from":"r"})";
  const auto refusal = [&](size_t texts) {
    std::string file = whole;
    for (size_t i = 0; i < texts; ++i) file.insert(kHeadBytes, text);
    const auto seen =
        prepared(before_of("BYTES", "[]", steps), model_of({2, 2, 3}, {1}), {{.shape = {}, .texts = {file}}});
    return seen ? std::string("taken") : seen.error().message();
  };
  EXPECT_EQ(refusal(kPngTextsMax), "taken");
  EXPECT_THAT(refusal(kPngTextsMax + 1), ::testing::HasSubstr("more than 16 zTXt and iTXt chunks"));
}

// The two sides are at most 4096, and the channels whatever the file says: together they would be 1 TB.
TEST(Step, RefusesToMakeAPictureTooLarge) {
  const std::string steps = R"({"name":"large","step":"resize","from":"x","shorter_side":4096},)"
                            R"({"name":"last","step":"centre_crop","from":"large","height":1,"width":1})";
  EXPECT_ERROR(prepared(before_of("FP32", "[-1,-1,16384]", steps), model_of({1, 1, 16384}, {1}),
                        {{.shape = {1, 1, 16384}, .words = std::vector<float>(16384)}}),
               ErrorCode::too_large, "step \"large\": is 1 x 1 pixels, too many to be made so large");
}

TEST(Step, ScalesNormalisesCastsAndReshapes) {
  const std::string scale = R"({"name":"unit","step":"scale","from":"x","factor":0.5,"offset":1},)"
                            R"({"name":"last","step":"normalise","from":"unit","mean":[1,2],"deviation":[0.5,4]})";
  const auto scaled = prepared(before_of("UINT8", "[2,2]", scale), model_of({2, 2}, {1}),
                               {{.shape = {2, 2}, .pixels = {0, 2, 4, 255}}});
  ASSERT_OK(scaled);
  EXPECT_THAT(*scaled, ElementsAre(0, 0, 4, FloatEq(126.5f / 4)));
  const std::string cast = R"({"name":"whole","step":"cast","from":"x","datatype":"INT32"},)"
                           R"({"name":"last","step":"reshape","from":"whole","shape":[2,1]})";
  const ModelInterface integers = model_of({2, 1}, {1}, ProtocolType::int32);
  const auto whole = prepared(before_of("FP64", "[2]", cast), integers, {{.shape = {2}, .doubles = {-7, 3}}});
  ASSERT_OK(whole);
  EXPECT_EQ(std::bit_cast<int32_t>((*whole)[0]), -7);
  const auto least = prepared(before_of("INT32", "[2]", cast), integers,
                              {{.shape = {2}, .words = {std::bit_cast<float>(INT32_MIN), 0}}});
  ASSERT_OK(least);
  EXPECT_EQ(std::bit_cast<int32_t>((*least)[0]), INT32_MIN);
  for (const double bad : {0.5, 3e9, -2147483649.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_ERROR(prepared(before_of("FP64", "[2]", cast), integers, {{.shape = {2}, .doubles = {1, bad}}}),
                 ErrorCode::invalid_argument, "step \"whole\": has ");
  }
}

TEST(Step, TurnsScoresIntoProbabilities) {
  const auto softmax = finished(after_of(R"({"name":"p","step":"softmax","from":"out"})", R"({"p":"p"})"),
                                model_of({1}, {3}), {1, 2, 3, 1000, 1000, 1000});
  ASSERT_OK(softmax);
  EXPECT_THAT((*softmax)[0].words,
              ElementsAre(FloatNear(0.09003057f, 1e-7f), FloatNear(0.24472847f, 1e-7f), FloatNear(0.66524096f, 1e-7f),
                          FloatEq(1 / 3.f), FloatEq(1 / 3.f), FloatEq(1 / 3.f)));
  const auto sigmoid = finished(after_of(R"({"name":"p","step":"sigmoid","from":"out"})", R"({"p":"p"})"),
                                model_of({1}, {3}), {0, 2, -1000});
  ASSERT_OK(sigmoid);
  EXPECT_THAT((*sigmoid)[0].words, ElementsAre(0.5f, FloatNear(0.8807971f, 1e-7f), 0));
}

TEST(Step, NamesTheBestClasses) {
  const std::string steps = R"({"name":"best","step":"top_k","from":"out","k":2,"labels":["a","b","c"]},)"
                            R"({"name":"first","step":"argmax","from":"out"},)"
                            R"({"name":"word","step":"argmax","from":"out","labels":["A","B","C"]},)"
                            R"({"name":"high","step":"threshold","from":"out","at":0.5,"labels":["no","yes"]},)"
                            R"({"name":"bit","step":"threshold","from":"out","at":0.5})";
  const std::string outputs = R"({"1":"best.labels","2":"best.values","3":"best.indices","4":"first","5":"word",)"
                              R"("6":"high","7":"bit"})";
  const auto done = finished(after_of(steps, outputs), model_of({1}, {3}), {0.25f, 0.5f, 0.25f, 0.75f, -1, 0.75f});
  ASSERT_OK(done);
  EXPECT_THAT((*done)[0].texts, ElementsAre("b", "a", "a", "c")) << "of equals the first";
  EXPECT_THAT((*done)[1].words, ElementsAre(0.5f, 0.25f, 0.75f, 0.75f));
  EXPECT_THAT(integers_of((*done)[2]), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(integers_of((*done)[3]), ElementsAre(1, 0));
  EXPECT_THAT((*done)[4].texts, ElementsAre("B", "A"));
  EXPECT_THAT((*done)[5].texts, ElementsAre("no", "yes", "no", "yes", "no", "yes"));
  EXPECT_THAT(integers_of((*done)[6]), ElementsAre(0, 1, 0, 1, 0, 1));
}

}  // namespace
}  // namespace coterie
