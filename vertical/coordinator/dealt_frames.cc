#include "vertical/coordinator/dealt_frames.h"

#include "base/assert.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "vertical/link/frame.h"

namespace coterie::vertical {
namespace {

// The same for the same two parties with the same journals, so that a training that goes on hears the same words.
// A product's also depends on the shape, which says where a mask lies: no mask is used under two.
Secret<32> party_seed(const Secret<32>& secret, const CoordinatorEffects::Deal& deal, PartyIndex party) {
  DomainFields name(deal.is_product ? "coterie/v1/product-dealing" : "coterie/v1/regression-dealing");
  name.add(deal.session.view()).add(uint64_t{party});
  if (deal.is_product) {
    for (const uint32_t count : {deal.shape.rows, deal.shape.label_columns, deal.shape.feature_columns}) {
      name.add(uint64_t{count});
    }
  }
  return hkdf<32>({}, secret.reveal(), name.view());
}

}  // namespace

Result<DealtFrames::AnyDealing> make_dealing(const CoordinatorEffects::Deal& deal, PartyIndex party,
                                             const Secret<32>& secret) {
  Secret<32> label = party_seed(secret, deal, 0), feature = party_seed(secret, deal, 1);
  if (deal.is_product) {
    COT_ASSIGN(ProductDealing product, ProductDealing::make(deal.shape, party, std::move(label), std::move(feature)));
    return DealtFrames::AnyDealing(std::move(product));
  }
  COT_ASSIGN(Dealing steps, Dealing::make(deal.shape, party, std::move(label), std::move(feature), deal.first_step));
  return DealtFrames::AnyDealing(std::move(steps));
}

ByteView DealtFrames::waiting() {
  // One frame at a time: a dealing is larger than memory, and a slow party holds back its own alone.
  if (gone_ == frame_.size() && !is_over_) {
    const std::optional<Message> message = std::visit([](auto& dealing) { return dealing.next(); }, dealing_);
    is_over_ = !message;
    // What is dealt opens what the parties say to each other masked.
    wipe(frame_);
    frame_.clear();
    gone_ = 0;
    if (message) {
      const auto header = write_frame_header({.stage = StageId::training,
                                              .kind = message->kind,
                                              .length = static_cast<uint32_t>(message->payload.size()),
                                              .sequence = sequence_++});
      frame_.insert(frame_.end(), header.begin(), header.end());
      frame_.insert(frame_.end(), message->payload.begin(), message->payload.end());
    }
  }
  return ByteView(frame_).subspan(gone_);
}

void DealtFrames::sent(size_t bytes) {
  COT_ASSERT(bytes <= frame_.size() - gone_);
  gone_ += bytes;
}

}  // namespace coterie::vertical
