#include <algorithm>
#include <map>

#include "model_import/weights/pickle.h"
#include "model_import/weights/read_weights.h"
#include "model_import/weights/zip_archive.h"

namespace coterie::model_import {
namespace {

constexpr std::string_view kProgram = "data.pkl";

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, what); }
Error unread(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// The files of the archive, by name without the folder that all of them are in (archive/data.pkl).
class Archive {
 public:
  static Result<Archive> open(ByteView file) {
    Archive archive;
    COT_ASSIGN(std::vector<ZipMember> members, read_zip(file));
    for (ZipMember& member : members) {
      const size_t slash = member.name.find('/');
      if (slash == std::string::npos) continue;
      archive.members_.emplace(member.name.substr(slash + 1), std::move(member.content));
    }
    return archive;
  }

  const WeightContent* find(const std::string& name) const {
    const auto found = members_.find(name);
    return found == members_.end() ? nullptr : &found->second;
  }
  // code/: a program of TorchScript.
  bool has_code() const {
    const auto next = members_.lower_bound("code/");
    return next != members_.end() && next->first.starts_with("code/");
  }

 private:
  std::map<std::string, WeightContent> members_;
};

std::string listed_parts(const PickledDict& dict) {
  std::string names;
  for (const PickledDict& part : dict.dicts) {
    if (!part.tensors.empty()) names += (names.empty() ? "" : ", ") + part.name;
  }
  return names;
}

// The dictionary with the weights: the file's own, or the one in it that is named, or that has tensors.
Result<const PickledDict*> chosen(const PickledDict& dict, const std::string& part) {
  if (!part.empty()) {
    const auto found = std::ranges::find(dict.dicts, part, &PickledDict::name);
    if (found != dict.dicts.end() && !found->tensors.empty()) return &*found;
    return unread("has no part " + part + " with tensors; it has: " + listed_parts(dict));
  }
  if (!dict.tensors.empty()) return &dict;
  const PickledDict* only = nullptr;
  for (const PickledDict& each : dict.dicts) {
    if (each.tensors.empty()) continue;
    if (only != nullptr) {
      return unread("holds several dictionaries of tensors: " + listed_parts(dict) + "; say which by --part");
    }
    only = &each;
  }
  if (only == nullptr) return unread("holds no tensors: save torch.save(net.state_dict(), FILE)");
  return only;
}

Result<WeightTensor> tensor_of(const Archive& archive, const std::string& name, const PickledTensor& pickled) {
  const WeightContent* const content = archive.find("data/" + pickled.storage);
  if (content == nullptr) return malformed("its elements, data/" + pickled.storage + ", are not in the archive");
  if (content->is_deflated) return malformed("its elements are compressed, which PyTorch does not do");
  const uint64_t width = element_bytes(pickled.type);
  if (content->plain_bytes % width != 0 || content->plain_bytes / width != pickled.storage_elements) {
    return malformed("its storage has " + std::to_string(content->plain_bytes) + " bytes, expected " +
                     std::to_string(pickled.storage_elements) + " elements of " + std::to_string(width));
  }
  if (pickled.first > pickled.storage_elements) return malformed("begins behind the end of its storage");
  WeightTensor tensor{.name = name,
                      .type = pickled.type,
                      .shape = pickled.shape,
                      .strides = pickled.strides,
                      .first_byte = pickled.first * width,
                      .content = *content};
  COT_TRY(check_tensor(tensor));
  return tensor;
}

}  // namespace

Result<WeightTable> read_pytorch(ByteView file, const ReadOptions& options) {
  COT_ASSIGN(const Archive archive, Archive::open(file));
  if (archive.has_code()) {
    return unread("is TorchScript, a program and its weights: load it in Python and save net.state_dict()");
  }
  const WeightContent* const content = archive.find(std::string(kProgram));
  if (content == nullptr) return malformed("is a zip archive without data.pkl, so not of torch.save");
  if (content->plain_bytes > kPickleBytesMax) return Error(ErrorCode::too_large, "has a pickle of more than 64 MiB");
  if (const WeightContent* const order = archive.find("byteorder")) {
    COT_ASSIGN(const Bytes text, read_beginning(*order, kWeightNameBytesMax));
    if (as_text(text) != "little") return unread("was saved on a big-endian machine: save it again on another");
  }
  COT_ASSIGN(const Bytes program, read_content(*content));
  COT_ASSIGN(const PickledDict dict, read_pickle(program));
  COT_ASSIGN(const PickledDict* const weights, chosen(dict, options.part));
  WeightTable table{.format = WeightFormat::pytorch, .tensors = {}, .notes = {}};
  for (const auto& [name, pickled] : weights->tensors) {
    Result<WeightTensor> tensor = tensor_of(archive, name, pickled);
    if (!tensor) return tensor.error().with_context(name);
    table.tensors.push_back(std::move(*tensor));
  }
  if (weights != &dict) table.notes.push_back("the weights are those of " + weights->name);
  COT_TRY(check_table(table));
  return table;
}

}  // namespace coterie::model_import
