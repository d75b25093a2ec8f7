#include "fl_server/finalize/frame_stream.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

const std::string kHeader = "a header of 27 bytes, odd..";
const std::string kPayload = "the payload, which is read in pieces of any size";

class FrameStreamTest : public testing::Test {
 protected:
  FrameStreamTest() : digest_(*blobs_.put(build_frame(FrameKind::model, as_bytes(kHeader), as_bytes(kPayload)))) {}

  Result<FrameStream> open() { return FrameStream::open(blobs_, digest_, FrameKind::model); }
  // Reads everything in pieces of this size, then verifies.
  Status read_all(FrameStream& stream, size_t piece, std::string& text) {
    for (size_t left = stream.prelude().payload_bytes; left > 0;) {
      Bytes bytes(std::min(piece, left));
      COT_TRY(stream.read(bytes));
      text += as_text(bytes);
      left -= bytes.size();
    }
    return stream.verify();
  }

  test::MemoryBlobStore blobs_;
  Digest digest_;
};

TEST_F(FrameStreamTest, GivesHeadAndPayloadInPiecesOfAnySize) {
  for (size_t piece : {size_t{1}, size_t{7}, kPayload.size(), size_t{1000}}) {
    auto stream = open();
    ASSERT_OK(stream);
    EXPECT_EQ(stream->prelude().payload_bytes, kPayload.size());
    EXPECT_EQ(as_text(stream->header()), kHeader);
    EXPECT_EQ(stream->head(), build_frame_head(FrameKind::model, as_bytes(kHeader), kPayload.size()));
    std::string text;
    EXPECT_OK(read_all(*stream, piece, text)) << piece;
    EXPECT_EQ(text, kPayload);
  }
}

TEST_F(FrameStreamTest, OpensOnlyAWholeFrameOfTheKindThatIsMeant) {
  EXPECT_ERROR(FrameStream::open(blobs_, digest_, FrameKind::partial_sum), ErrorCode::data_loss, "not a whole partial");
  EXPECT_ERROR(FrameStream::open(blobs_, Digest{}, FrameKind::model), ErrorCode::not_found, "");
  const Bytes whole = blobs_.bytes_of(digest_);
  for (size_t size = 0; size < whole.size(); ++size) {
    blobs_.bytes_of(digest_).assign(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_ERROR(open(), ErrorCode::data_loss, "") << size;
  }
  blobs_.bytes_of(digest_) = whole;
  blobs_.bytes_of(digest_).push_back(0);
  EXPECT_ERROR(open(), ErrorCode::data_loss, "not a whole model");
}

TEST_F(FrameStreamTest, NoticesEveryByteThatIsNotWhatItWas) {
  const Bytes whole = blobs_.bytes_of(digest_);
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes& bytes = blobs_.bytes_of(digest_);
    bytes = whole;
    bytes[at] ^= 0x20;
    auto stream = open();
    std::string text;
    const Status read = stream ? read_all(*stream, 16, text) : Status(stream.error());
    ASSERT_FALSE(read) << at;
    EXPECT_EQ(traits(read.error().code()).retry, RetryClass::never) << at << ": reading again does not help";
  }
}

TEST_F(FrameStreamTest, EndsWhereThePayloadEnds) {
  auto stream = open();
  ASSERT_OK(stream);
  Bytes bytes(kPayload.size() + 1);
  EXPECT_ERROR(stream->read(bytes), ErrorCode::data_loss, "");
  const test::ThrowingAsserts throwing;
  EXPECT_THROW((void)stream->verify(), AssertionFailure) << "nobody verifies what was not read";
}

}  // namespace
}  // namespace coterie
