#include "fl_server/store/directory_blob_store.h"

#include <optional>

#include "base/os/file.h"
#include "fl_server/store/file_blob.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

class FileWriter : public BlobWriter {
 public:
  FileWriter(os::AtomicFile file, std::string root) : file_(std::move(file)), root_(std::move(root)) {}

  Status append(ByteView bytes) override {
    digester_.update(bytes);
    return file_.write(bytes);
  }

  Result<Digest> finish() override {
    const Digest digest = digester_.finish();
    const std::string name = digest.hex();
    const std::string path = root_ + "/" + name.substr(0, 2) + "/" + name;
    if (const Result<os::File> same = os::File::open_read(path)) {
      COT_TRY(same->touch());
      // The same bytes, perhaps renamed by another writer a moment ago: make that durable. Removed meanwhile: write
      // them.
      COT_ASSIGN(const os::FileIdentity identity, same->identity());
      COT_TRY(os::sync_directory(os::parent_directory(path)));
      if (os::is_at(identity, path)) return digest;
    }
    COT_TRY(file_.file().touch());  // what was appended an hour ago is put now
    COT_TRY(file_.commit_as(path));
    return digest;
  }

 private:
  os::AtomicFile file_;
  std::string root_;
  ContentDigester digester_;
};

constexpr std::string_view kGoing = "going-";  // then its digest: a blob that is being removed

// What a dead process was writing goes. What it was removing comes back, as nobody knows what it had found out.
Status end_unfinished(const std::string& root, const std::string& incoming, const std::string& name) {
  const std::string path = incoming + "/" + name;
  if (!name.starts_with(kGoing)) return os::remove_file(path);
  const std::string digest = name.substr(kGoing.size());
  if (!Digest::from_hex(digest)) return os::remove_file(path);
  const std::string home = root + "/" + digest.substr(0, 2);
  COT_TRY(os::rename_file(path, home + "/" + digest));
  return os::sync_directory(home);
}

}  // namespace

Result<std::unique_ptr<DirectoryBlobStore>> DirectoryBlobStore::open_directory(const std::string& root,
                                                                               const std::string& node,
                                                                               const os::FilePoints* points) {
  const std::string incoming = root + "/incoming" + (node.empty() ? "" : "-" + node);
  COT_TRY(os::make_directories(incoming));
  COT_ASSIGN(const std::vector<std::string> unfinished, os::list_directory(incoming));
  for (int i = 0; i < 256; ++i) {
    const uint8_t byte = static_cast<uint8_t>(i);
    COT_TRY(os::make_directories(root + "/" + to_hex(ByteView(&byte, 1))));
  }
  COT_TRY(os::sync_directory(root));
  for (const std::string& name : unfinished) COT_TRY(end_unfinished(root, incoming, name));
  return std::unique_ptr<DirectoryBlobStore>(new DirectoryBlobStore(root, incoming, points));
}

std::string DirectoryBlobStore::path_of(const Digest& digest) const {
  const std::string name = digest.hex();
  return root_ + "/" + name.substr(0, 2) + "/" + name;
}

Result<std::unique_ptr<BlobWriter>> DirectoryBlobStore::create() {
  COT_ASSIGN(os::AtomicFile file, os::AtomicFile::create(incoming_ + "/blob", points_));
  return std::unique_ptr<BlobWriter>(std::make_unique<FileWriter>(std::move(file), root_));
}

Result<std::shared_ptr<const BlobReader>> DirectoryBlobStore::open(const Digest& digest) {
  COT_ASSIGN(os::File file, os::File::open_read(path_of(digest)));
  COT_ASSIGN(const uint64_t size, file.size());
  return std::shared_ptr<const BlobReader>(std::make_shared<FileBlob>(std::move(file), size));
}

Status DirectoryBlobStore::remove(const Digest& digest) { return os::remove_file(path_of(digest)); }

// The name goes first and the time is looked at then: a writer of the same bytes that has touched the file before is
// seen, and one that touches it later finds no file of this name and writes another (FileWriter::finish).
Result<bool> DirectoryBlobStore::remove_put_before(const Digest& digest, WallTime put_min) {
  const std::string path = path_of(digest);
  const Result<WallTime> put = os::modified(path);
  if (!put && put.error().code() == ErrorCode::not_found) return true;
  COT_TRY(put);
  if (*put >= put_min) return false;
  const std::string going = incoming_ + "/" + std::string(kGoing) + digest.hex();
  COT_TRY(os::rename_file(path, going));
  const Result<WallTime> last_put = os::modified(going);
  if (last_put && *last_put < put_min) {
    COT_TRY(os::remove_file(going));
    return true;
  }
  COT_TRY(os::rename_file(going, path));
  COT_TRY(os::sync_directory(os::parent_directory(path)));
  COT_TRY(last_put);
  return false;
}

// A new file has it.
Result<WallTime> DirectoryBlobStore::now() {
  COT_ASSIGN(const os::AtomicFile file, os::AtomicFile::create(incoming_ + "/clock"));
  return file.file().modified();
}

Result<std::vector<Digest>> DirectoryBlobStore::list(Millis age_min) {
  std::optional<WallTime> put_max;
  if (age_min > Millis(0)) {
    COT_ASSIGN(const WallTime clock, now());
    put_max = clock - age_min;
  }
  std::vector<Digest> digests;
  for (int i = 0; i < 256; ++i) {
    const uint8_t byte = static_cast<uint8_t>(i);
    COT_ASSIGN(const std::vector<std::string> names, os::list_directory(root_ + "/" + to_hex(ByteView(&byte, 1))));
    for (const std::string& name : names) {
      const Result<Digest> digest = Digest::from_hex(name);
      if (!digest) continue;
      if (put_max) {
        const Result<WallTime> put = os::modified(path_of(*digest));
        if (!put && put.error().code() == ErrorCode::not_found) continue;  // removed meanwhile
        COT_TRY(put);
        if (*put > *put_max) continue;
      }
      digests.push_back(*digest);
    }
  }
  return digests;
}

}  // namespace coterie
