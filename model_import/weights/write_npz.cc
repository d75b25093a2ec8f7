#include "model_import/weights/write_npz.h"

#include <limits>
#include <set>
#include <string_view>

#include "model_import/weights/weight_content.h"
#include "model_import/weights/weight_limits.h"

namespace coterie::model_import {
namespace {

constexpr size_t kArrayAlignment = 64;
constexpr std::string_view kNpyBegin("\x93NUMPY\x01\x00", 8);
constexpr std::string_view kNpySuffix = ".npy";
constexpr size_t kArraysMax = 65'534;
constexpr uint64_t kArchiveBytesMax = std::numeric_limits<uint32_t>::max() - 1;
constexpr uint16_t kZipVersion = 20, kNameIsUtf8 = 0x800, kStored = 0;
constexpr uint32_t kFirstOf1980 = 0x21 << 16;  // as DOS has dates: there is none before
constexpr uint64_t kMemberBytes = 30, kEntryBytes = 46, kEndBytes = 22;

template <typename Number>
void append_number(Bytes& to, Number value) {
  for (size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
void append_text(Bytes& to, std::string_view text) { to.insert(to.end(), text.begin(), text.end()); }

// What comes before the elements.
Bytes npy_header(const NpzArray& array) {
  std::string header = std::string("{'descr': '") + (array.type == DataType::int32 ? "<i4" : "<f4") +
                       "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : array.shape) header += std::to_string(size) + ",";
  header += "), }";
  const size_t begin = kNpyBegin.size() + sizeof(uint16_t) + header.size() + 1;
  header += std::string((kArrayAlignment - begin % kArrayAlignment) % kArrayAlignment, ' ') + "\n";
  Bytes bytes;
  append_text(bytes, kNpyBegin);
  append_number(bytes, static_cast<uint16_t>(header.size()));
  append_text(bytes, header);
  return bytes;
}

Bytes npy_of(const NpzArray& array) {
  Bytes file = npy_header(array);
  const auto* const elements = reinterpret_cast<const uint8_t*>(array.words.data());
  file.insert(file.end(), elements, elements + array.words.size() * sizeof(float));
  return file;
}

// What a member's own header and its entry in the directory have in common.
void append_description(Bytes& to, ByteView content, uint32_t crc, size_t name_bytes) {
  append_number(to, kZipVersion);
  append_number(to, kNameIsUtf8);
  append_number(to, kStored);
  append_number(to, kFirstOf1980);
  append_number(to, crc);
  append_number(to, static_cast<uint32_t>(content.size()));
  append_number(to, static_cast<uint32_t>(content.size()));
  append_number(to, static_cast<uint16_t>(name_bytes));
  append_number(to, uint16_t{0});  // nothing extra
}

Status check_arrays(const std::vector<NpzArray>& arrays) {
  if (arrays.size() > kArraysMax) return Error(ErrorCode::too_large, "has more than 65,534 arrays");
  std::set<std::string_view> names;
  uint64_t bytes = kEndBytes;
  for (const NpzArray& array : arrays) {
    if (array.name.empty() || array.name.size() > kWeightNameBytesMax) {
      return Error(ErrorCode::invalid_argument, "an array's name must have 1 to 1,024 bytes");
    }
    if (!names.insert(array.name).second) {
      return Error(ErrorCode::invalid_argument, "two arrays have the name " + array.name);
    }
    bytes += kMemberBytes + kEntryBytes + 2 * (array.name.size() + kNpySuffix.size()) + npy_header(array).size() +
             array.words.size() * sizeof(float);
    if (bytes > kArchiveBytesMax) {
      return Error(ErrorCode::too_large, "has 4 GiB or more, which an .npz cannot; take fewer examples or outputs");
    }
  }
  return {};
}

}  // namespace

Result<Bytes> write_npz(const std::vector<NpzArray>& arrays) {
  COT_TRY(check_arrays(arrays));
  Bytes file, directory;
  for (const NpzArray& array : arrays) {
    const std::string name = array.name + std::string(kNpySuffix);
    const Bytes content = npy_of(array);
    const uint32_t crc = crc32_of(content);
    const auto at = static_cast<uint32_t>(file.size());
    append_text(file, "PK\3\4");
    append_description(file, content, crc, name.size());
    append_text(file, name);
    file.insert(file.end(), content.begin(), content.end());
    append_text(directory, "PK\1\2");
    append_number(directory, kZipVersion);
    append_description(directory, content, crc, name.size());
    directory.insert(directory.end(), 2 + 2 + 2 + 4, 0);  // no comment, disk 0, no attributes
    append_number(directory, at);
    append_text(directory, name);
  }
  const auto count = static_cast<uint16_t>(arrays.size());
  const auto at = static_cast<uint32_t>(file.size());
  file.insert(file.end(), directory.begin(), directory.end());
  append_text(file, "PK\5\6");
  append_number(file, uint32_t{0});  // disk 0 of 0
  append_number(file, count);
  append_number(file, count);
  append_number(file, static_cast<uint32_t>(directory.size()));
  append_number(file, at);
  append_number(file, uint16_t{0});  // no comment
  return file;
}

}  // namespace coterie::model_import
