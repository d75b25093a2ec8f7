// Golden files of weights (tests/golden/weights), and archives and pickles that no honest program writes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/os/file.h"
#include "model_import/weights/read_weights.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie::test {

inline Bytes golden_weights(const std::string& name) {
  Result<Bytes> bytes = os::read_file(source_dir() + "/tests/golden/weights/" + name, 1 << 20);
  EXPECT_OK(bytes);
  return bytes ? std::move(*bytes) : Bytes();
}

inline std::string little(uint64_t value, size_t width) {
  std::string bytes;
  for (size_t i = 0; i < width; ++i, value >>= 8) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// A zip archive put together by hand, so that any field of it can lie.
class ZipBuild {
 public:
  struct Lies {
    uint16_t method = 0, flags = 0;
    std::optional<uint64_t> plain, stored, at;
    std::optional<uint32_t> crc;
  };

  ZipBuild& member(const std::string& name, std::string_view content, Lies lies) {
    const uint64_t at = lies.at.value_or(file_.size());
    const uint32_t crc = lies.crc.value_or(model_import::crc32_of(as_bytes(content)));
    const std::string sizes = little(crc, 4) + little(lies.stored.value_or(content.size()), 4) +
                              little(lies.plain.value_or(content.size()), 4) + little(name.size(), 2) + little(0, 2);
    const std::string way = little(20, 2) + little(lies.flags, 2) + little(lies.method, 2) + little(0, 4);
    file_ += "PK\3\4" + way + sizes + name;
    file_ += content;
    directory_ += "PK\1\2" + little(20, 2) + way + sizes + little(0, 2 + 2 + 2 + 4) + little(at, 4) + name;
    ++members_;
    return *this;
  }
  ZipBuild& member(const std::string& name, std::string_view content) { return member(name, content, Lies{}); }

  Bytes finish() const {
    const std::string end = "PK\5\6" + little(0, 4) + little(members_, 2) + little(members_, 2) +
                            little(directory_.size(), 4) + little(file_.size(), 4) + little(0, 2);
    const std::string all = file_ + directory_ + end;
    return {all.begin(), all.end()};
  }

 private:
  std::string file_, directory_;
  size_t members_ = 0;
};

// What torch.save would have written around this program of a pickle, with one storage of `storage_bytes` zeros.
inline Bytes torch_file(const std::string& program, size_t storage_bytes = 16) {
  return ZipBuild().member("a/data.pkl", program).member("a/data/0", std::string(storage_bytes, '\0')).finish();
}

// Pieces of such a program.
inline std::string pickled_text(std::string_view text) { return "X" + little(text.size(), 4) + std::string(text); }
inline std::string pickled_number(int32_t number) { return "J" + little(static_cast<uint32_t>(number), 4); }
inline std::string pickled_storage(int32_t elements) {
  return "(" + pickled_text("storage") + "ctorch\nFloatStorage\n" + pickled_text("0") + pickled_text("cpu") +
         pickled_number(elements) + "tQ";
}
// A tensor in one dictionary: {"w": a tensor of `sizes` and `strides`, pushed as tuples}.
inline std::string pickled_tensor(const std::string& first, const std::string& sizes, const std::string& strides) {
  return "\x80\x02}" + pickled_text("w") + "ctorch._utils\n_rebuild_tensor_v2\n(" + pickled_storage(4) + first + sizes +
         strides + "\x89}tRs.";
}

}  // namespace coterie::test
