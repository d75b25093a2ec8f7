// What is said of a population's log: heads in plans and saved sessions, and frames of proofs.
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"

namespace coterie {
namespace flat {

flatbuffers::Offset<wire::Log> build(flatbuffers::FlatBufferBuilder& builder, const SignedLogHead& message) {
  const auto population = builder.CreateString(message.population.value());
  const auto signature = vector(builder, message.signature);
  const wire::Digest32 root = digest(message.head.root);
  return wire::CreateLog(builder, population, message.head.size, &root, signature);
}

Result<SignedLogHead> parse(const wire::Log& table) {
  SignedLogHead message;
  COT_ASSIGN(std::string population, text(table.population(), "log.population", limits::kTextBytesMax, 1));
  message.population = Population(std::move(population));
  message.head = {table.size(), digest(*table.root())};
  if (message.head.size == 0) return out_of_range("log.size", "must be at least 1");
  COT_ASSIGN(message.signature, bytes(table.signature(), "log.signature", limits::kSignatureBytesMax));
  return message;
}

}  // namespace flat

Bytes encode(const LogProof& message) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<wire::Digest32> hashes;
  for (const Digest& hash : message.hashes) hashes.push_back(flat::digest(hash));
  const auto sent = builder.CreateVectorOfStructs(hashes);
  builder.Finish(wire::CreateLogProof(builder, message.before, message.size, sent));
  return flat::finish(builder, FrameKind::log_proof);
}

Result<LogProof> decode_log_proof(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::log_proof));
  COT_ASSIGN(const auto root, flat::Root<wire::LogProof>::verify(frame.header));
  LogProof message{.before = root->before(), .size = root->size(), .hashes = {}};
  if (message.before > message.size) return flat::out_of_range("before", "must be at most size");
  if (root->hashes() == nullptr) return message;
  if (root->hashes()->size() > limits::kLogProofHashesMax) return flat::out_of_range("hashes", "has more than 65");
  for (const wire::Digest32* hash : *root->hashes()) message.hashes.push_back(flat::digest(*hash));
  return message;
}

}  // namespace coterie
