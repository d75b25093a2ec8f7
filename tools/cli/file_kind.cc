#include "tools/cli/file_kind.h"

#include <string_view>

#include "proto/codec/frame.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr const char* kUnknown = "is of no format that is known here";

struct Kind {
  std::string what;      // "is a NumPy array"; empty: it begins as a model file
  std::string way = {};  // to a model file, "FILE" for its name; empty: there is none
  bool is_foreign_model = false;
};

bool begins(ByteView file, std::string_view mark, size_t at = 0) {
  return file.size() >= at && as_text(file.subspan(at)).starts_with(mark);
}

// A version, then one of the fields that exporters write behind it: no other format that is told here begins so.
bool is_onnx(ByteView file) {
  constexpr std::string_view kTags = "\x12\x1a\x22\x2a\x32\x3a\x42";
  return file.size() > 3 && file[0] == 0x08 && file[1] >= 1 && file[1] < 32 &&
         kTags.find(static_cast<char>(file[2])) != std::string_view::npos;
}

Kind kind_of(const Prelude& prelude, size_t bytes) {
  switch (prelude.kind) {
    case FrameKind::model:
      if (bytes >= prelude.frame_bytes()) return {};
      return {"is cut short, with " + std::to_string(bytes) + " of its " + std::to_string(prelude.frame_bytes()) +
              " bytes"};
    case FrameKind::checkpoint:
      return {"is a checkpoint of a training", ": name the model that was trained, and this file behind --checkpoint"};
    case FrameKind::dataset: return {"is a data set file"};
    case FrameKind::update:
    case FrameKind::model_delta: return {"is a change of a model"};
    default: return {"is a file of kind " + std::string(to_string(prelude.kind))};
  }
}

Kind kind_of(ByteView file) {
  const std::string convert = ", which `coterie model convert FILE -o net.cotf` makes of it";
  const std::string load = ", which `coterie model load-weights GRAPH FILE -o net.cotf` makes of a graph and it";
  if (file.empty()) return {"is empty"};
  if (const Result<Prelude> prelude = parse_prelude(file); prelude) return kind_of(*prelude, file.size());
  if (begins(file, "COTF")) return {};
  if (begins(file, "TFL3", 4)) return {"is a TFLite model", convert, true};
  if (begins(file, "MSL2", 4)) return {"is a MindSpore Lite model", convert, true};
  if (is_onnx(file)) return {"is an ONNX model", convert, true};
  if (begins(file, "PK\x03\x04")) return {"is an archive, as .npz and state dicts of PyTorch are", load};
  if (begins(file, "{", 8)) return {"has weights without a graph (safetensors)", load};
  if (begins(file, "\x0a")) return {"has weights without a graph, if it is a .ckpt of MindSpore", load};
  if (begins(file, "\x93NUMPY")) return {"is a NumPy array"};
  if (begins(file, "\x89HDF")) return {"is HDF5, which is not read"};
  return {kUnknown};
}

std::string way_of(Kind kind, const std::string& path) {
  constexpr std::string_view kFile = "FILE";
  if (const size_t at = kind.way.find(kFile); at != std::string::npos) {
    kind.way.replace(at, kFile.size(), shell_word(path));
  }
  return std::move(kind.way);
}

}  // namespace

Status check_model_kind(ByteView file, const std::string& path) {
  const Kind kind = kind_of(file);
  if (kind.what.empty()) return {};
  return Error(ErrorCode::invalid_argument, path + " " + kind.what + "; a model file is expected" + way_of(kind, path));
}

Status check_foreign_kind(ByteView file, const std::string& path) {
  const std::string expected = "; a model of ONNX, TFLite or MindSpore Lite is expected";
  Kind kind = kind_of(file);
  if (kind.what.empty()) kind.what = "is a model file already";
  if (kind.is_foreign_model || kind.what == kUnknown) return {};
  return Error(ErrorCode::invalid_argument, path + " " + kind.what + expected + way_of(kind, path));
}

Status check_onnx_kind(ByteView file, const std::string& path) {
  const Kind kind = kind_of(file);
  if (!kind.is_foreign_model || is_onnx(file)) return check_foreign_kind(file, path);
  return Error(ErrorCode::invalid_argument, path + " " + kind.what + "; an ONNX graph is expected");
}

}  // namespace coterie
