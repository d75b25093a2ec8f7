// Messages of secure aggregation to frames and back; what codec.h says of the others holds here too.
//
// Decoded devices are below kRosterSizeMax, and below the roster's size where the message tells it; lists of devices
// ascend strictly, so that a set has one form alone. What needs the session (is this device a neighbour, is that
// signature good) is for secure/secagg.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "proto/codec/codec.h"
#include "proto/messages/secagg.h"

namespace coterie {

Bytes encode(const KeyAdvert& message);
Bytes encode(const RosterSlot& message);
Bytes encode(const HolderChoice& message);
Bytes encode(const RosterView& message);
Bytes encode(const SealedShares& message);
Bytes encode(const ShareInbox& message);
Bytes encode(const ConfirmRequest& message);
Bytes encode(const Confirmation& message);
Bytes encode(const UnmaskRequest& message);
Bytes encode(const Unmasking& message);

Result<KeyAdvert> decode_key_advert(ByteView frame);
Result<RosterSlot> decode_roster_slot(ByteView frame);
Result<HolderChoice> decode_holder_choice(ByteView frame);
Result<RosterView> decode_roster_view(ByteView frame);
Result<SealedShares> decode_sealed_shares(ByteView frame);
Result<ShareInbox> decode_share_inbox(ByteView frame);
Result<ConfirmRequest> decode_confirm_request(ByteView frame);
Result<Confirmation> decode_confirmation(ByteView frame);
Result<UnmaskRequest> decode_unmask_request(ByteView frame);
Result<Unmasking> decode_unmasking(ByteView frame);

// The payload is lane_count * lane_bits / 8 bytes, rounded up, and `lanes` their digest: that they fit is for the one
// who hashes them.
Bytes encode_head(const MaskedInput& message);
Result<Decoded<MaskedInput>> decode_masked_input(ByteView frame);
Result<MaskedInput> decode_masked_input_head(const Prelude& prelude, ByteView header);

}  // namespace coterie
