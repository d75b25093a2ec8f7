#include "model_import/weights/zip_archive.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "model_import/weights/little_endian.h"
#include "model_import/weights/weight_limits.h"

namespace coterie::model_import {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50,
                   kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr size_t kCommentBytesMax = 65'535;
constexpr uint16_t kExtra64 = 1;              // the extra field with what does not fit 32 bits
constexpr uint64_t kDeflateRatioMax = 1'032;  // 258 bytes of 2 bits: no stream of deflate grows more

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "is a damaged zip archive: " + what); }

struct Directory {
  uint64_t at = 0, bytes = 0, members = 0;
};

Result<Directory> directory64(ByteView file, uint64_t end_at) {
  if (end_at < kLocator64Bytes || u32_at(file, end_at - kLocator64Bytes) != kLocator64Signature) {
    return malformed("its sizes need zip64, which is not there");
  }
  const uint64_t at = u64_at(file, end_at - kLocator64Bytes + 8);
  if (at > file.size() || file.size() - at < kEnd64Bytes || u32_at(file, at) != kEnd64Signature) {
    return malformed("its end is not where it says");
  }
  return Directory{u64_at(file, at + 48), u64_at(file, at + 40), u64_at(file, at + 32)};
}

Result<Directory> find_directory(ByteView file) {
  if (file.size() < kEndBytes) return malformed("it is cut short");
  const uint64_t last = file.size() - kEndBytes;
  const uint64_t first = last - std::min<uint64_t>(last, kCommentBytesMax);
  for (uint64_t at = last + 1; at-- > first;) {
    if (u32_at(file, at) != kEndSignature || at + kEndBytes + u16_at(file, at + 20) != file.size()) continue;
    Directory directory{u32_at(file, at + 16), u32_at(file, at + 12), u16_at(file, at + 10)};
    const bool is_64 = directory.at == 0xffffffff || directory.bytes == 0xffffffff || directory.members == 0xffff;
    if (is_64) {
      COT_ASSIGN(directory, directory64(file, at));
    }
    if (directory.at > at || directory.bytes > at - directory.at) return malformed("its directory lies outside");
    if (directory.members > kWeightTensorsMax) {
      return Error(ErrorCode::too_large, "is a zip archive of more than 65,536 members");
    }
    return directory;
  }
  return malformed("it has no directory, so its end is cut off");
}

struct Sizes {
  uint64_t plain, stored, local_at;
};

// What has all bits set in the 32-bit fields stands in the extra field, in this order.
Status widen(ByteView extra, Sizes& sizes) {
  while (extra.size() >= 4) {
    const uint16_t id = u16_at(extra, 0), bytes = u16_at(extra, 2);
    extra = extra.subspan(4);
    if (bytes > extra.size()) return malformed("an extra field is longer than its member");
    ByteView field = extra.first(bytes);
    extra = extra.subspan(bytes);
    if (id != kExtra64) continue;
    for (uint64_t* const size : {&sizes.plain, &sizes.stored, &sizes.local_at}) {
      if (*size != 0xffffffff) continue;
      if (field.size() < 8) return malformed("a size of zip64 is missing");
      *size = u64_at(field, 0);
      field = field.subspan(8);
    }
  }
  return {};
}

// Where the bytes of a member begin: behind a local header that has a name and an extra field of its own.
Result<uint64_t> content_of(ByteView file, const Sizes& sizes) {
  if (sizes.local_at > file.size() || file.size() - sizes.local_at < kLocalBytes ||
      u32_at(file, sizes.local_at) != kLocalSignature) {
    return malformed("a member is not where the directory says");
  }
  const uint64_t begin =
      sizes.local_at + kLocalBytes + u16_at(file, sizes.local_at + 26) + u16_at(file, sizes.local_at + 28);
  if (begin > file.size() || sizes.stored > file.size() - begin) return malformed("a member reaches past the end");
  return begin;
}

struct Entry {
  ZipMember member;
  uint64_t begin, end;  // in the file, with its local header
};

Result<Entry> read_entry(ByteView file, ByteView& directory) {
  if (directory.size() < kCentralBytes || u32_at(directory, 0) != kCentralSignature) {
    return malformed("its directory is cut short");
  }
  const uint16_t flags = u16_at(directory, 8), method = u16_at(directory, 10);
  const size_t name_bytes = u16_at(directory, 28), extra_bytes = u16_at(directory, 30),
               comment_bytes = u16_at(directory, 32);
  Sizes sizes{u32_at(directory, 24), u32_at(directory, 20), u32_at(directory, 42)};
  const uint32_t crc = u32_at(directory, 16);
  directory = directory.subspan(kCentralBytes);
  if (name_bytes + extra_bytes + comment_bytes > directory.size()) return malformed("its directory is cut short");
  if (name_bytes > kWeightNameBytesMax) return Error(ErrorCode::too_large, "has a member with a name over 1,024 bytes");
  std::string name(as_text(directory.first(name_bytes)));
  COT_TRY(widen(directory.subspan(name_bytes, extra_bytes), sizes));
  directory = directory.subspan(name_bytes + extra_bytes + comment_bytes);
  if ((flags & 1u) != 0) return Error(ErrorCode::invalid_argument, "is encrypted: save it again without a password");
  if (method != 0 && method != 8) {
    return Error(ErrorCode::invalid_argument, "has the member " + name + " compressed by method " +
                                                  std::to_string(method) + ", expected none (0) or deflate (8)");
  }
  COT_ASSIGN(const uint64_t begin, content_of(file, sizes));
  if (method == 0 && sizes.plain != sizes.stored) return malformed("a stored member has two sizes");
  if (method == 8 && sizes.plain / kDeflateRatioMax > sizes.stored) {
    return malformed("the member " + name + " says that it is larger than deflate can make it");
  }
  return Entry{{std::move(name),
                {.parts = {file.subspan(begin, sizes.stored)},
                 .plain_bytes = sizes.plain,
                 .is_deflated = method == 8,
                 .crc32 = crc}},
               sizes.local_at,
               begin + sizes.stored};
}

// Members over each other are how a small archive becomes a large one.
Status check_apart(std::vector<std::pair<uint64_t, uint64_t>> places) {
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].first < places[i - 1].second) return malformed("two members lie over each other");
  }
  return {};
}

}  // namespace

bool is_zip(ByteView file) { return file.size() >= 4 && u32_at(file, 0) == kLocalSignature; }

Result<std::vector<ZipMember>> read_zip(ByteView file) {
  COT_ASSIGN(const Directory directory, find_directory(file));
  ByteView rest = file.subspan(directory.at, directory.bytes);
  std::vector<ZipMember> members;
  std::vector<std::pair<uint64_t, uint64_t>> places;
  std::set<std::string> names;
  for (uint64_t i = 0; i < directory.members; ++i) {
    COT_ASSIGN(Entry entry, read_entry(file, rest));
    if (!names.insert(entry.member.name).second) return malformed("two members have the name " + entry.member.name);
    places.emplace_back(entry.begin, entry.end);
    members.push_back(std::move(entry.member));
  }
  COT_TRY(check_apart(std::move(places)));
  return members;
}

}  // namespace coterie::model_import
