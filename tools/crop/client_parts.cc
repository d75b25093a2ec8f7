#include "tools/crop/client_parts.h"

#include <string_view>
#include <utility>

namespace coterie {
namespace {

constexpr std::string_view kKernels = "libcoterie_train_kernels.a", kRuntime = "libcoterie_runtime.a";

// Highway's namespaces, in the mangled name of a function.
constexpr std::pair<std::string_view, const char*> kLevels[] = {
    {"N_AVX3", "avx512"}, {"N_AVX2", "avx2"}, {"N_SSE4", "sse4"}, {"N_NEON", "neon"}};

std::string level_of(std::string_view section) {
  for (const auto& [mark, level] : kLevels) {
    if (section.find(mark) != std::string_view::npos) return level;
  }
  return "common";
}

std::string stem_of(std::string_view object) { return std::string(object.substr(0, object.find('.'))); }

// What the linker makes of all objects together.
std::string name_of_internal(std::string_view section) {
  if (section.starts_with(".rodata")) return "texts and constants";
  if (section.starts_with(".rela")) return "relocations";
  return "tables of the linker";
}

// "libcoterie_codec.a" -> "codec"
std::string name_of_library(std::string_view library) {
  constexpr std::string_view kPrefix = "libcoterie_";
  if (library.starts_with(kPrefix)) library.remove_prefix(kPrefix.size());
  return std::string(library.substr(0, library.rfind('.')));
}

uint64_t sum(const std::map<std::string, uint64_t>& parts) {
  uint64_t all = 0;
  for (const auto& [name, bytes] : parts) all += bytes;
  return all;
}

}  // namespace

uint64_t ClientParts::bytes() const {
  uint64_t all = sum(rules) + sum(others);
  for (const auto& [file, levels] : kernels) all += sum(levels);
  return all;
}

ClientParts parts_of(std::span<const LinkedPiece> pieces, const std::set<std::string>& rules) {
  ClientParts parts;
  for (const LinkedPiece& piece : pieces) {
    const std::string stem = stem_of(piece.object);
    if (piece.library == kKernels) parts.kernels[stem][level_of(piece.section)] += piece.bytes;
    else if (piece.library == kRuntime && rules.contains(stem)) parts.rules[stem] += piece.bytes;
    else if (!piece.library.empty()) parts.others[name_of_library(piece.library)] += piece.bytes;
    else if (piece.object == "<internal>") parts.others[name_of_internal(piece.section)] += piece.bytes;
    else parts.others["program"] += piece.bytes;
  }
  return parts;
}

}  // namespace coterie
