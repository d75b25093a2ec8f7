#include "tools/data/unpack.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/stored_gzip.h"
#include "tests/unit/tools/stored_zstd.h"
#include "tools/data/packed_file.h"

namespace coterie {
namespace {

using test::stored_gzip;
using test::stored_zstd;

Bytes pattern(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  return bytes;
}

// As `gzip -9n` and `zstd -19` pack table(): Huffman codes, repeats, and a checksum at the end.
const Bytes kGzipTable = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x35, 0xcc, 0x3d, 0x0a, 0x80, 0x30, 0x18, 0x83,
    0xe1, 0xdd, 0xb3, 0x64, 0x68, 0xbe, 0xfa, 0x7b, 0x9c, 0x8a, 0x45, 0x84, 0x0e, 0xde, 0x7f, 0xb2, 0x29, 0x66,
    0x0b, 0x2f, 0xe1, 0x79, 0x2e, 0x94, 0xbb, 0xa2, 0x95, 0xb3, 0xb6, 0xe9, 0x4d, 0x09, 0x91, 0x90, 0xfa, 0x20,
    0x82, 0x60, 0x1f, 0x81, 0x88, 0x51, 0x32, 0x22, 0x8f, 0x32, 0x23, 0xe6, 0x51, 0x16, 0x9d, 0x55, 0x56, 0x9d,
    0x55, 0x36, 0x9d, 0x55, 0x76, 0x9d, 0x55, 0x0e, 0x9d, 0x7b, 0xa1, 0x65, 0x5a, 0xa6, 0x65, 0x5a, 0xa6, 0x65,
    0x5a, 0xa6, 0x65, 0x5a, 0xa6, 0x65, 0xfe, 0xf2, 0x07, 0xfa, 0xdd, 0x22, 0xe0, 0xc1, 0x00, 0x00, 0x00};
const Bytes kZstdTable = {0x28, 0xb5, 0x2f, 0xfd, 0x24, 0xc1, 0xa5, 0x02, 0x00, 0x22, 0x05, 0x0e, 0x10, 0xb0,
                          0xeb, 0x80, 0x3b, 0x98, 0x1f, 0x46, 0xe3, 0xc8, 0xe4, 0x4e, 0x7e, 0x66, 0x02, 0x6e,
                          0x04, 0xe7, 0xe6, 0x5b, 0x6c, 0xdb, 0xb6, 0xed, 0x7c, 0x0b, 0x78, 0xc9, 0xdf, 0xe1,
                          0x57, 0xe0, 0x1b, 0xf2, 0x4d, 0xf0, 0x82, 0xbf, 0xc7, 0x76, 0xae, 0x5f, 0x63, 0x3b,
                          0x2c, 0xbe, 0x88, 0xed, 0x58, 0x3a, 0x86, 0x35, 0x29, 0x53, 0xb4, 0x02, 0x11, 0xa8,
                          0x10, 0x88, 0xd1, 0xeb, 0xff, 0x06, 0xd0, 0x73, 0x31, 0x10, 0x18, 0x2f, 0xfa, 0x11,
                          0xaa, 0xad, 0x4b, 0xce, 0x82, 0x52, 0x2d, 0xb3, 0x65, 0x38, 0x88, 0xeb, 0x12};

std::string table() {
  std::string text = "id,age,label\n";
  for (int i = 0; i < 20; ++i) {
    text += (i < 10 ? "p0" : "p") + std::to_string(i) + "," + std::to_string(20 + i % 5) + "," + std::to_string(i % 2) +
            "\n";
  }
  return text;
}

// A way to pack, and what it made of table().
struct Format {
  const char* name;
  Bytes (*stored)(ByteView);
  const Bytes& table;
};

class UnpackFormat : public ::testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, UnpackFormat,
                         ::testing::Values(Format{"gzip", stored_gzip, kGzipTable},
                                           Format{"zstd", stored_zstd, kZstdTable}),
                         [](const auto& format) { return format.param.name; });

TEST_P(UnpackFormat, GivesWhatWasPacked) {
  for (const size_t size : {0u, 1u, 1000u, 65'535u, 65'536u, 262'144u, 300'000u}) {
    const auto unpacked = unpack(GetParam().stored(pattern(size)), size);
    ASSERT_OK(unpacked);
    EXPECT_EQ(*unpacked, pattern(size)) << size;
  }
}

TEST_P(UnpackFormat, GivesWhatTheFormatsOwnProgramPacked) {
  const auto unpacked = unpack(GetParam().table, 1000);
  ASSERT_OK(unpacked);
  EXPECT_EQ(as_text(*unpacked), table());
}

TEST_P(UnpackFormat, GivesTheSameForEachSizeOfPieces) {
  Bytes file = GetParam().stored(pattern(300'000));
  file.insert(file.end(), GetParam().table.begin(), GetParam().table.end());
  Bytes expected = pattern(300'000);
  const std::string behind = table();
  expected.insert(expected.end(), behind.begin(), behind.end());
  for (const size_t size : {997u, 5'000u, 400'000u}) {
    const auto unpacker = Unpacker::make(packing_of(file), expected.size());
    ASSERT_OK(unpacker);
    for (size_t at = 0; at < file.size(); at += size) {
      ASSERT_OK((*unpacker)->add(ByteView(file).subspan(at, std::min(size, file.size() - at))));
    }
    ASSERT_OK((*unpacker)->add({}));
    const auto unpacked = (*unpacker)->finish();
    ASSERT_OK(unpacked);
    EXPECT_EQ(*unpacked, expected) << size;
  }
}

TEST_P(UnpackFormat, GivesTheSameByteByByte) {
  const auto unpacker = Unpacker::make(packing_of(GetParam().table), 1000);
  ASSERT_OK(unpacker);
  for (const uint8_t& byte : GetParam().table) ASSERT_OK((*unpacker)->add({&byte, 1}));
  const auto unpacked = (*unpacker)->finish();
  ASSERT_OK(unpacked);
  EXPECT_EQ(as_text(*unpacked), table());
}

TEST_P(UnpackFormat, RefusesAFileCutShortAtEveryByte) {
  for (size_t size = kPackingBytes; size < GetParam().table.size(); ++size) {
    EXPECT_ERROR(unpack(ByteView(GetParam().table).first(size), 1000), ErrorCode::malformed,
                 "ends too early, behind byte " + std::to_string(size));
  }
}

TEST_P(UnpackFormat, RefusesBytesBehindTheEnd) {
  Bytes file = GetParam().table;
  file.push_back(0);
  EXPECT_ERROR(unpack(file, 1000), ErrorCode::malformed, "");
}

TEST_P(UnpackFormat, StopsAtTheLimitNotOneByteBefore) {
  for (const size_t size : {1u, 1000u, 262'144u, 262'145u}) {
    EXPECT_OK(unpack(GetParam().stored(pattern(size)), size));
    EXPECT_ERROR(unpack(GetParam().stored(pattern(size)), size - 1), ErrorCode::too_large, "unpacks to more than");
  }
}

TEST(Unpack, RefusesEveryDamagedByteThatGzipsChecksumsCover) {
  const Bytes file = stored_gzip(pattern(40));
  // Behind the head, which says when and by whom it was written, and five bits of padding.
  for (size_t at = 11; at < file.size(); ++at) {
    Bytes damaged = file;
    damaged[at] ^= 0x40;
    EXPECT_FALSE(unpack(damaged, 1000)) << at;
  }
}

TEST(Unpack, SaysBehindWhichByteAFileIsDamaged) {
  Bytes damaged = kGzipTable;
  damaged[kGzipTable.size() - 8] ^= 1;  // of the checksum
  EXPECT_ERROR(unpack(damaged, 1000), ErrorCode::malformed, "is a gzip file that is damaged behind byte 10");
  damaged = stored_zstd(pattern(300'000));
  damaged[6 + 3 + test::kZstdBlockMax] |= 6;  // the second block's kind is none
  const auto unpacked = unpack(damaged, 1'000'000);
  EXPECT_ERROR(unpacked, ErrorCode::malformed, "is a zstd file that is damaged behind byte 131072: ");  // 9 behind it
}

TEST(Unpack, StopsABombOfFewBytesAtTheLimit) {
  const Bytes bomb = test::zstd_bomb(10'000);  // 1.2 GiB
  EXPECT_LT(bomb.size(), 50'000u);
  EXPECT_ERROR(unpack(bomb, 1'000'000), ErrorCode::too_large, "unpacks to more than 1000000 bytes");
}

TEST(Unpack, RefusesAZstdFrameThatLooksBackTooFar) {
  Bytes file = test::zstd_head((28 - 10) << 3);  // 256 MiB
  test::add_zstd_block(file, test::kZstdRawBlock, 0, true);
  EXPECT_ERROR(unpack(file, 1000), ErrorCode::malformed, "memory");
  file = test::zstd_head((27 - 10) << 3);
  test::add_zstd_block(file, test::kZstdRawBlock, 0, true);
  EXPECT_OK(unpack(file, 1000));
}

TEST(Unpack, PassesOverAZstdFrameThatIsToBeSkipped) {
  Bytes file = {0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};
  file.insert(file.end(), kZstdTable.begin(), kZstdTable.end());
  const auto unpacked = unpack(file, 1000);
  ASSERT_OK(unpacked);
  EXPECT_EQ(as_text(*unpacked), table());
}

TEST(Unpack, LeavesOtherFilesAsTheyAre) {
  const auto kept = unpack(pattern(40), 10);
  ASSERT_OK(kept);
  EXPECT_EQ(*kept, pattern(40));
  EXPECT_EQ(packing_of(ByteView(kZstdTable).first(3)), Packing::none);
}

TEST(PackedFile, IsToldByItsBytesAndReadInPieces) {
  const test::TemporaryDirectory folder;
  const Bytes content = pattern(600'000);  // more than a piece
  for (const Bytes& file : {content, stored_gzip(content), stored_zstd(content)}) {
    const std::string path = folder / "table.csv";
    ASSERT_OK(os::write_file_atomically(path, file));
    const auto read = read_unpacked(path, 1'000'000);
    ASSERT_OK(read);
    EXPECT_EQ(*read, content);
    EXPECT_ERROR(read_unpacked(path, 599'999), ErrorCode::too_large, path);
  }
}

TEST(PackedFile, NamesTheFileThatIsCutShort) {
  const test::TemporaryDirectory folder;
  const std::string path = folder / "table.csv.zst";
  ASSERT_OK(os::write_file_atomically(path, ByteView(kZstdTable).first(50)));
  EXPECT_ERROR(read_unpacked(path, 1000), ErrorCode::malformed,
               path + ": is a zstd file that ends too early, behind byte 50");
}

}  // namespace
}  // namespace coterie
