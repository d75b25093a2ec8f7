#include "tools/data/image_folder.h"

#include <gmock/gmock.h>

#include "base/os/file.h"
#include "model_io/image_file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/image_files.h"

namespace coterie {
namespace {

using test::Halves;
using testing::ElementsAre;

// The first pixel and the last one.
Bytes ends_of(const Result<Picture>& picture) {
  EXPECT_OK(picture);
  if (!picture) return {};
  const Bytes& pixels = picture->pixels;
  EXPECT_EQ(pixels.size(), size_t{picture->height} * picture->width * 3);
  Bytes ends(pixels.begin(), pixels.begin() + 3);
  ends.insert(ends.end(), pixels.end() - 3, pixels.end());
  return ends;
}

TEST(ImageFile, IsReadAsColoursWhateverItHas) {
  const Halves colours{.left = {255, 0, 0}, .right = {0, 0, 255}};
  EXPECT_THAT(ends_of(decode_image(test::png_file(colours))), ElementsAre(255, 0, 0, 0, 0, 255));
  EXPECT_THAT(ends_of(decode_image(test::png_file({.left = {9}, .right = {200}}))),
              ElementsAre(9, 9, 9, 200, 200, 200));
  EXPECT_THAT(ends_of(decode_image(test::png_file({.left = {1, 2, 3, 0}, .right = {1, 2, 3, 255}}))),
              ElementsAre(255, 255, 255, 1, 2, 3))
      << "what is transparent is white";
  EXPECT_THAT(ends_of(decode_image(test::jpeg_file({.height = 16, .width = 64, .left = {9}, .right = {200}}))),
              ElementsAre(9, 9, 9, 200, 200, 200));
  const auto jpeg =
      decode_image(test::jpeg_file({.height = 16, .width = 64, .left = {255, 0, 0}, .right = {0, 0, 255}}));
  const Bytes ends = ends_of(jpeg);
  for (size_t i = 0; i < ends.size(); ++i) EXPECT_NEAR(ends[i], (Bytes{255, 0, 0, 0, 0, 255}[i]), 3);
}

TEST(ImageFile, IsAnErrorWhereverItIsCutOff) {
  struct Case {
    Bytes file;
    size_t end_mark;  // bytes behind the pixels
  };
  for (const auto& [file, end_mark] :
       {Case{test::png_file({.left = {1}, .right = {2}}), 12}, Case{test::jpeg_file({.left = {1}, .right = {2}}), 2}}) {
    for (size_t size = 0; size + end_mark < file.size(); ++size) {
      const Bytes cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
      ASSERT_ERROR(decode_image(cut), ErrorCode::malformed, "is ") << size << " of " << file.size();
    }
  }
  EXPECT_ERROR(decode_image(as_bytes("GIF89a")), ErrorCode::malformed, "is neither a JPEG nor a PNG file");
}

TEST(ImageFile, DoesNoHarmWithAnyByteChanged) {
  for (const Bytes& file :
       {test::png_file({.left = {1}, .right = {2}}), test::jpeg_file({.left = {1}, .right = {2}})}) {
    for (size_t i = 0; i < file.size(); ++i) {
      for (const uint8_t bits : {uint8_t{0xff}, uint8_t{0x01}, uint8_t{0x80}}) {
        Bytes changed = file;
        changed[i] ^= bits;
        const auto picture = decode_image(changed);
        if (picture) EXPECT_EQ(picture->pixels.size(), size_t{picture->height} * picture->width * 3);
      }
    }
  }
}

TEST(ImageFile, IsRefusedWhenItsHeaderPromisesTooMuch) {
  Bytes jpeg = test::jpeg_file({.left = {1}, .right = {2}});
  for (size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xff || jpeg[i + 1] != 0xc0) continue;
    for (size_t side = i + 5; side < i + 9; ++side) jpeg[side] = 0xfe;  // height and width
    break;
  }
  EXPECT_ERROR(decode_image(jpeg), ErrorCode::too_large, "has 65278 x 65278 pixels");
}

// Each scan of a progressive file goes over all pixels: a short file with thousands of them would keep a thread busy.
TEST(ImageFile, IsRefusedWhenItGoesOverItsPixelsWithoutEnd) {
  const Bytes whole = test::progressive_jpeg_file({.height = 16, .width = 16, .left = {9}, .right = {200}});
  ASSERT_OK(decode_image(whole));
  size_t scan = whole.size();  // where the last one begins
  while (whole[--scan] != 0xff || whole[scan + 1] != 0xda) {
  }
  const auto with_scans = [&](int more) {
    Bytes file = whole;
    for (int i = 0; i < more; ++i)
      file.insert(file.end() - 2, whole.begin() + static_cast<ptrdiff_t>(scan), whole.end() - 2);
    return decode_image(file);
  };
  EXPECT_OK(with_scans(80));
  EXPECT_ERROR(with_scans(101), ErrorCode::malformed, "is a damaged JPEG file: more than 100 scans");
}

class ImageFolder : public testing::Test {
 protected:
  void put(const std::string& name, const Bytes& bytes) {
    const std::string path = directory_ / name;
    ASSERT_OK(os::make_directories(os::parent_directory(path)));
    ASSERT_OK(os::write_file_atomically(path, bytes));
  }
  Result<LabelledImages> load(const ImageFolderOptions& options = {}) const {
    return load_image_folder(directory_.path(), options);
  }

  test::TemporaryDirectory directory_;
  const Halves black_white_{.left = {0, 0, 0}, .right = {255, 255, 255}};
};

TEST_F(ImageFolder, HasAClassAFolderInTheOrderOfTheirNames) {
  put("cat/b.PNG", test::png_file({.left = {1}, .right = {1}}));
  put("cat/a.jpg", test::png_file({.left = {2}, .right = {2}}));  // a PNG, whatever it is called
  put("cat/notes.txt", {1});
  put("ant/x.jpeg", test::jpeg_file({.left = {3}, .right = {3}}));
  put("README", {1});
  const auto images = load({.channels = 1});
  ASSERT_OK(images);
  EXPECT_EQ(images->classes, 2u);
  EXPECT_THAT(images->shape, ElementsAre(4, 8, 1));
  EXPECT_THAT(images->labels, ElementsAre(0, 1, 1));
  ASSERT_EQ(images->image_bytes(), 32u);
  EXPECT_EQ(images->pixels[0], 3);
  EXPECT_EQ(images->pixels[32], 2);
  EXPECT_EQ(images->pixels[64], 1);
}

TEST_F(ImageFolder, ResizesToTheSizeThatIsAskedFor) {
  put("a/1.png", test::png_file(black_white_));
  put("a/2.png", test::png_file({.height = 2, .width = 2, .left = {7, 8, 9}, .right = {7, 8, 9}}));
  const auto images = load({.height = 2, .width = 2});
  ASSERT_OK(images);
  EXPECT_THAT(images->shape, ElementsAre(2, 2, 3));
  // The four columns on each side weigh 5 7 7 5 and, beyond the middle, 3 1: 1/7 of the other colour.
  EXPECT_THAT(Bytes(images->pixels.begin(), images->pixels.begin() + 6), testing::Each(testing::AnyOf(36, 219)));
  EXPECT_THAT(Bytes(images->pixels.begin() + 12, images->pixels.begin() + 18), ElementsAre(7, 8, 9, 7, 8, 9));
}

TEST_F(ImageFolder, NamesTheFileThatIsOfAnotherSizeOrBroken) {
  EXPECT_ERROR(load(), ErrorCode::not_found, directory_.path() + " has no folders");
  put("a/1.png", test::png_file(black_white_));
  put("a/2.png", test::png_file({.height = 2, .width = 2, .left = {0, 0, 0}, .right = {0, 0, 0}}));
  EXPECT_ERROR(load(), ErrorCode::malformed,
               directory_ / "a/2.png" +
                   ": is 2 x 2 pixels, those before it 4 x 8; give a size for all: " + "images:DIR?height=4&width=8");
  ASSERT_OK(os::remove_file(directory_ / "a/2.png"));
  ASSERT_OK(os::make_directories(directory_ / "b"));
  EXPECT_ERROR(load(), ErrorCode::not_found, directory_ / "b" + " has no image");
}

TEST_F(ImageFolder, SkipsWhatDoesNotDecodeAndCountsIt) {
  put("a/1.png", test::png_file(black_white_));
  put("a/2.png", {1, 2, 3});
  put("a/3.jpg", {});
  put("a/._4.png", {1});
  put(".cache/5.png", {1});
  const auto images = load();
  ASSERT_OK(images);
  EXPECT_EQ(images->size(), 1u);
  EXPECT_THAT(images->class_names, ElementsAre("a"));
  EXPECT_THAT(images->notes, ElementsAre("2 images were skipped; the first: " + directory_ / "a/2.png" +
                                         ": is neither a JPEG nor a PNG file"));
  ASSERT_OK(os::remove_file(directory_ / "a/1.png"));
  EXPECT_ERROR(load(), ErrorCode::malformed, directory_ / "a" + ": none of its 2 images decodes");
}

TEST_F(ImageFolder, NumbersClassesAsItIsTold) {
  put("dog/1.png", test::png_file(black_white_));
  const auto images = load({.classes = {"ant", "dog", "emu"}});
  ASSERT_OK(images);
  EXPECT_EQ(images->classes, 3u);
  EXPECT_THAT(images->labels, ElementsAre(1));
  EXPECT_ERROR(load({.classes = {"ant", "emu"}}), ErrorCode::malformed, "dog is none of the classes ant, emu");
}

}  // namespace
}  // namespace coterie
