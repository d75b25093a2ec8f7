#include "secure/dp/ledger/ledger_heads.h"

#include <charconv>
#include <vector>

#include "secure/crypto/domain_fields.h"

namespace coterie {
namespace {

constexpr std::string_view kTitle = "coterie privacy ledger heads 1";
constexpr size_t kPopulationBytesMax = 256;

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "ledger heads: " + what); }

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t end = line.find(' ');
    words.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end + 1);
  }
}

template <typename Number>
Result<Number> number_of(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return malformed("a number is none");
  return number;
}

// Everything that is signed.
std::string body_of(const LedgerHeads& heads, ByteView public_key) {
  std::string text = std::string(kTitle) + "\ntime " + std::to_string(unix_ms(heads.time)) + "\nchain " +
                     std::to_string(heads.chain.records) + " " + heads.chain.head.hex() + "\n";
  for (const auto& [population, log] : heads.logs) {
    text +=
        "log " + std::to_string(log.size) + " " + log.root.hex() + " " + to_hex(as_bytes(population.value())) + "\n";
  }
  return text + "key ed25519 " + to_hex(public_key) + "\n";
}

Bytes message_of(std::string_view body) {
  DomainFields fields("coterie/v1/ledger-heads");
  fields.add(body);
  return Bytes(fields.view().begin(), fields.view().end());
}

Status read_line(const std::vector<std::string_view>& words, SignedHeads& into) {
  LedgerHeads& heads = into.heads;
  if (words.size() == 2 && words[0] == "time") {
    COT_ASSIGN(const int64_t ms, number_of<int64_t>(words[1]));
    heads.time = wall_time_from_unix_ms(ms);
  } else if (words.size() == 3 && words[0] == "chain") {
    COT_ASSIGN(heads.chain.records, number_of<uint64_t>(words[1]));
    COT_ASSIGN(heads.chain.head, Digest::from_hex(words[2]));
  } else if (words.size() == 4 && words[0] == "log") {
    LogHead log;
    COT_ASSIGN(log.size, number_of<uint64_t>(words[1]));
    COT_ASSIGN(log.root, Digest::from_hex(words[2]));
    COT_ASSIGN(const Bytes name, from_hex(words[3]));
    if (name.size() > kPopulationBytesMax) return malformed("a population's name is too long");
    heads.logs[Population(std::string(as_text(name)))] = log;
  } else if (words.size() == 3 && words[0] == "key" && words[1] == "ed25519") {
    COT_ASSIGN(into.public_key, from_hex(words[2]));
  } else {
    return malformed("a line says nothing that is known");
  }
  return {};
}

}  // namespace

LedgerHeads heads_of(const Ledger& ledger, const PopulationLogs& logs, WallTime now) {
  LedgerHeads heads{{ledger.size(), ledger.head()}, {}, now};
  for (const Population& population : logs.populations()) {
    const MerkleLog& log = logs.log_of(population);
    heads.logs[population] = {log.size(), log.root()};
  }
  return heads;
}

Status verify_continues(const Ledger& ledger, const PopulationLogs& logs, const LedgerHeads& before) {
  COT_TRY(ledger.verify_extends(before.chain.records, before.chain.head));
  for (const auto& [population, head] : before.logs) {
    const MerkleLog& log = logs.log_of(population);
    const std::string name = "privacy ledger: of population " + population.value();
    if (head.size > log.size()) {
      return Error(ErrorCode::data_loss, name + " there are " + std::to_string(log.size()) + " records, there were " +
                                             std::to_string(head.size) + ": its end is gone");
    }
    if (log.root(head.size) != head.root) {
      return Error(ErrorCode::data_loss,
                   name + " the first " + std::to_string(head.size) + " records are not those that were there");
    }
  }
  return {};
}

Result<std::string> signed_text(const LedgerHeads& heads, const Signer& signer) {
  if (signer.algorithm() != KeyAlgorithm::ed25519) return Error(ErrorCode::invalid_argument, "ledger heads: the key");
  const std::string body = body_of(heads, signer.public_key());
  COT_ASSIGN(const Bytes signature, signer.sign(message_of(body)));
  return body + "signature " + to_hex(signature) + "\n";
}

// Read back into its parts and written again: two texts of the same heads would be two truths.
Result<SignedHeads> read_signed_heads(std::string_view text) {
  if (text.size() > kSignedHeadsBytesMax) return malformed("too long");
  const size_t last = text.rfind("signature ");
  if (last == std::string_view::npos || text.empty() || text.back() != '\n') return malformed("without a signature");
  const std::string_view body = text.substr(0, last);
  COT_ASSIGN(const Bytes signature, from_hex(text.substr(last + 10, text.size() - last - 11)));
  SignedHeads read;
  bool is_title = true;
  for (std::string_view rest = body; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return malformed("a line has no end");
    const std::string_view line = rest.substr(0, end);
    if (is_title && line != kTitle) return malformed("of another kind or version");
    if (!is_title) COT_TRY(read_line(words_of(line), read));
    is_title = false;
    rest.remove_prefix(end + 1);
  }
  if (body_of(read.heads, read.public_key) != body) return malformed("not as they are written");
  if (!signature_is_valid(KeyAlgorithm::ed25519, read.public_key, message_of(body), signature)) {
    return Error(ErrorCode::unauthenticated, "ledger heads: the signature is not of the key they name");
  }
  return read;
}

}  // namespace coterie
