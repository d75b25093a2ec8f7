#include "tools/data_cache/source_files.h"

#include <algorithm>
#include <bit>

#include "base/os/file.h"
#include "secure/crypto/digest.h"
#include "tools/data/image_folder.h"
#include "tools/data_cache/data_code.h"

namespace coterie {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;

// "X.npy,Y.npy" as its two paths.
Status add_pair(const std::string& paths, std::vector<std::string>& files) {
  const size_t comma = paths.find(',');
  if (comma == std::string::npos) return Error(ErrorCode::invalid_argument, "npy: expected two files");
  files.push_back(paths.substr(0, comma));
  files.push_back(paths.substr(comma + 1));
  return {};
}

Status add_images(const std::string& directory, std::vector<std::string>& files) {
  COT_ASSIGN(const std::vector<ImageClass> classes, list_image_folder(directory));
  for (const ImageClass& each : classes) {
    for (const std::string& file : each.files) files.push_back(directory + "/" + each.name + "/" + file);
  }
  return {};
}

// Texts one after the other, each behind its length: nothing else has the same bytes.
class KeyText {
 public:
  void add(std::string_view field) {
    text_ += std::to_string(field.size()) + ":";
    text_ += field;
  }
  Digest digest() const { return content_digest(as_bytes(text_)); }

 private:
  std::string text_;
};

}  // namespace

bool is_fitted(const DataName& name) {
  return (name.kind() == "csv" || name.kind() == "npy") && !name.options().contains("contract");
}

Result<std::vector<std::string>> source_files(const DataName& name) {
  const std::string& kind = name.kind();
  std::vector<std::string> files;
  const bool is_cached = kind == "csv" || kind == "images" || kind == "npy" || kind == "text";
  if (!is_cached || name.path().empty()) return files;
  if (const auto contract = name.options().find("contract"); contract != name.options().end()) {
    files.push_back(contract->second);
  }
  if (kind == "images") {
    COT_TRY(add_images(name.path(), files));
  } else if (kind == "npy") {
    COT_TRY(add_pair(name.path(), files));
    if (const auto test = name.options().find("test"); test != name.options().end()) {
      COT_TRY(add_pair(test->second, files));
    }
  } else {
    files.push_back(name.path());
  }
  return files;
}

Result<SourceLog> digest_files(const std::vector<std::string>& paths) {
  SourceLog log;
  Bytes piece;
  for (const std::string& path : paths) {
    COT_ASSIGN(const os::File file, os::File::open_read(path));
    COT_ASSIGN(const uint64_t size, file.size());
    ContentDigester digester;
    for (uint64_t at = 0; at < size; at += piece.size()) {
      piece.resize(std::min(kPieceBytes, size - at));
      COT_TRY(file.read_exact_at(at, piece));
      digester.update(piece);
    }
    log.add(path, digester.finish());
  }
  return log;
}

Digest cache_key(const DataName& name, const LoadRequest& request, const SourceLog& sources) {
  KeyText text;
  text.add("coterie.data_cache.v1");
  text.add(kDataCodeDigest);
  text.add(std::endian::native == std::endian::little ? "little-endian float32" : "big-endian float32");
  text.add(name.kind());
  text.add(name.kind() == "images" ? name.path() : "");
  for (const auto& [option, value] : name.options()) {
    text.add(option);
    text.add(option == "contract" || option == "test" ? "" : value);  // these are files
  }
  text.add("group " + request.group);
  text.add(request.fit && is_fitted(name) ? "fit " + request.fit_name : "fit all");
  const std::string folder = name.path() + "/";
  for (const SourceFile& file : sources.files()) {
    const size_t begin = file.path.starts_with(folder) ? folder.size() : file.path.find_last_of('/') + 1;
    text.add(file.path.substr(begin));
    text.add(file.digest.hex());
  }
  return text.digest();
}

}  // namespace coterie
