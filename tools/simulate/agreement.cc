#include "tools/simulate/agreement.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace coterie {
namespace {

constexpr size_t kTextWords = 64;  // of an error's sentence, eight bytes each
constexpr size_t kSlotWords = 1 + kTextWords;
constexpr size_t kDigestWords = sizeof(Digest) / sizeof(uint64_t);

void put(std::string_view text, std::span<uint64_t> words) {
  for (size_t i = 0; i < std::min(text.size(), 8 * words.size()); ++i) {
    words[i / 8] |= uint64_t{static_cast<uint8_t>(text[i])} << (8 * (i % 8));
  }
}

std::string text_in(std::span<const uint64_t> words) {
  std::string text;
  for (size_t i = 0; i < 8 * words.size(); ++i) {
    const auto byte = static_cast<char>(words[i / 8] >> (8 * (i % 8)));
    if (byte == 0) break;
    text.push_back(byte);
  }
  return text;
}

// Rank 0 tells it: the others need not.
Error shared(Ranks& ranks, Error error) {
  ranks.set_error_shared();
  return error;
}

Status add_up(Ranks& ranks, std::span<uint64_t> words) {
  const Status added = ranks.add_up(words);
  return added ? added : Status(shared(ranks, added.error()));
}

}  // namespace

// A slot has the code and the sentence of a rank that failed.
Status agree(Ranks& ranks, const Status& own) {
  std::vector<uint64_t> slots(ranks.count() * kSlotWords);
  if (!own) {
    const std::span<uint64_t> slot = std::span(slots).subspan(ranks.rank() * kSlotWords, kSlotWords);
    slot[0] = static_cast<uint64_t>(own.error().code()) + 1;
    put(own.error().message(), slot.subspan(1));
  }
  if (ranks.count() == 1) return own;
  COT_TRY(add_up(ranks, slots));
  for (size_t rank = 0; rank < ranks.count(); ++rank) {
    const std::span<const uint64_t> slot = std::span(slots).subspan(rank * kSlotWords, kSlotWords);
    if (slot[0] == 0) continue;
    const Error error(static_cast<ErrorCode>(slot[0] - 1), text_in(slot.subspan(1)));
    return shared(ranks, error.with_context("rank " + std::to_string(rank)));
  }
  return {};
}

Status compare(Ranks& ranks, const Digest& own, std::string_view what) {
  std::vector<uint64_t> words(ranks.count() * kDigestWords);
  std::memcpy(&words[ranks.rank() * kDigestWords], own.bytes.data(), sizeof(Digest));
  COT_TRY(add_up(ranks, words));
  for (size_t rank = 1; rank < ranks.count(); ++rank) {
    if (std::equal(words.begin(), words.begin() + kDigestWords,
                   words.begin() + static_cast<std::ptrdiff_t>(rank * kDigestWords))) {
      continue;
    }
    return shared(ranks, Error(ErrorCode::conflict,
                               "rank " + std::to_string(rank) + " has another " + std::string(what) + " than rank 0"));
  }
  return {};
}

}  // namespace coterie
