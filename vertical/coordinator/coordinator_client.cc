#include "vertical/coordinator/coordinator_client.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/os/file.h"
#include "vertical/link/tls_context.h"

namespace coterie::vertical {
namespace {

constexpr uint64_t kKeyFileBytesMax = 1 << 16;

struct Answered {
  std::array<uint8_t, kCoordinatorHeaderBytes> header{};
  Bytes payload;
};

Result<Answered> say(ByteStream& stream, const Request& request) {
  COT_TRY(stream.write_all(write_request(request)));
  Answered answered;
  COT_TRY(stream.read_exact(answered.header));
  COT_ASSIGN(const uint32_t length, read_answer_header(answered.header));
  answered.payload.resize(length);
  COT_TRY(stream.read_exact(answered.payload));
  return answered;
}

Result<JobView> ask(ByteStream& stream, const Request& request) {
  COT_ASSIGN(const Answered answered, say(stream, request));
  return read_answer(answered.header, answered.payload);
}

Result<std::unique_ptr<ByteStream>> dial(const CoordinatorDoor& door, const LinkPatience& patience) {
  auto stream = dial_party(door.host, door.port, door.tls, patience);
  if (!stream) return stream.error().with_context("coordinator");
  return stream;
}

// What is asked of a job that runs; the connection goes on behind the answer.
Result<std::unique_ptr<ByteStream>> ask_in_run(const CoordinatorDoor& door, const Request& request,
                                               const LinkPatience& patience) {
  COT_ASSIGN(std::unique_ptr<ByteStream> stream, dial(door, patience));
  COT_ASSIGN(const JobView view, ask(*stream, request));
  // The coordinator relays; what this party has approved is not its to say. An answer about another job would have the
  // party run that one.
  if (view.state != JobState::running || view.job != request.job || view.manifest != request.digest) {
    return Error(ErrorCode::malformed, "coordinator: it speaks of another job, or of one that does not run");
  }
  return stream;
}

}  // namespace

Result<JobView> ask_coordinator(const CoordinatorDoor& door, const Request& request, const LinkPatience& patience) {
  COT_ASSIGN(const std::unique_ptr<ByteStream> stream, dial(door, patience));
  return ask(*stream, request);
}

Result<JobSurvey> survey_coordinator(const CoordinatorDoor& door, SurveyOf of, const VerticalJobId& job,
                                     const LinkPatience& patience) {
  COT_ASSIGN(const std::unique_ptr<ByteStream> stream, dial(door, patience));
  COT_ASSIGN(const Answered answered, say(*stream, {.kind = RequestKind::survey, .job = job, .survey = of}));
  return read_survey(answered.header, answered.payload);
}

Result<std::unique_ptr<ByteStream>> meet_at_coordinator(const CoordinatorDoor& door, const VerticalJobId& job,
                                                        const Digest& manifest, const TlsIdentity& peer, bool accepts,
                                                        const LinkPatience& patience,
                                                        std::optional<PartyIndex> number) {
  COT_ASSIGN(std::unique_ptr<ByteStream> stream,
             ask_in_run(door, {.kind = RequestKind::join, .job = job, .digest = manifest, .peer = number}, patience));
  return secure_inside(std::move(stream), peer, accepts);
}

Result<std::unique_ptr<ByteStream>> ask_matcher(const CoordinatorDoor& door, const VerticalJobId& job,
                                                const Digest& manifest, const LinkPatience& patience) {
  return ask_in_run(door, {.kind = RequestKind::join, .job = job, .digest = manifest, .peer = kMatcher}, patience);
}

Result<std::unique_ptr<ByteStream>> ask_dealer(const CoordinatorDoor& door, const VerticalJobId& job,
                                               const Digest& manifest, const RegressionDeal& deal,
                                               const LinkPatience& patience) {
  return ask_in_run(door,
                    {.kind = RequestKind::deal,
                     .job = job,
                     .digest = manifest,
                     .shape = deal.shape,
                     .session = deal.session,
                     .first_step = deal.first_step,
                     .is_product = deal.is_product},
                    patience);
}

Result<Bytes> sign_approval(const std::string& key_file, const VerticalJobId& job, const Digest& manifest) {
  Result<Bytes> pem = os::read_file(key_file, kKeyFileBytesMax);
  if (!pem) return pem.error();
  BIO* const bio = BIO_new_mem_buf(pem->data(), static_cast<int>(pem->size()));
  const std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* key) { EVP_PKEY_free(key); })> key(
      PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr));
  BIO_free(bio);
  // The key is parsed: its text must not stay in memory that is given back.
  OPENSSL_cleanse(pem->data(), pem->size());
  if (!key) return tls_error("cannot use the private key " + key_file);
  const bool is_ed25519 = EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519;
  if (!is_ed25519 && EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_EC) {
    return tls_error(key_file + " is no key of P-256 or Ed25519, which approvals are signed with");
  }
  const std::unique_ptr<EVP_MD_CTX, decltype([](EVP_MD_CTX* context) { EVP_MD_CTX_free(context); })> context(
      EVP_MD_CTX_new());
  const Bytes message = approval_message(job, manifest);
  Bytes signature(kApprovalBytesMax);
  size_t size = signature.size();
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, is_ed25519 ? nullptr : EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()) != 1) {
    return tls_error("cannot sign with " + key_file);
  }
  signature.resize(size);
  return signature;
}

}  // namespace coterie::vertical
