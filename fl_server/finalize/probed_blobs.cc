#include "fl_server/finalize/probed_blobs.h"

#include <utility>

namespace coterie {
namespace {

// The pieces of one blob as one call.
class PiecedCall {
 public:
  PiecedCall(const AttemptCalls& calls, std::string_view call) : calls_(calls), call_(call) {
    if (calls_.probe() != nullptr) began_ = std::chrono::system_clock::now();
  }
  PiecedCall(const PiecedCall&) = delete;
  PiecedCall& operator=(const PiecedCall&) = delete;
  ~PiecedCall() {
    if (calls_.probe() == nullptr) return;
    const auto micros = [](auto time) { return std::chrono::duration_cast<std::chrono::microseconds>(time); };
    calls_.probe()->store_called(calls_.key(), call_, micros(began_.time_since_epoch()), micros(took_));
  }

  template <typename Work>
  auto piece(Work work) {
    if (calls_.probe() == nullptr) return work();
    const auto begin = std::chrono::steady_clock::now();
    auto result = work();
    took_ += std::chrono::steady_clock::now() - begin;
    return result;
  }

 private:
  const AttemptCalls calls_;
  const std::string_view call_;
  std::chrono::system_clock::time_point began_;
  std::chrono::steady_clock::duration took_{0};
};

class ProbedReader final : public BlobReader {
 public:
  ProbedReader(std::shared_ptr<const BlobReader> reader, std::unique_ptr<PiecedCall> call)
      : reader_(std::move(reader)), call_(std::move(call)) {}

  uint64_t size() const override { return reader_->size(); }
  Status read_at(uint64_t offset, std::span<uint8_t> into) const override {
    return call_->piece([&] { return reader_->read_at(offset, into); });
  }

 private:
  const std::shared_ptr<const BlobReader> reader_;
  const std::unique_ptr<PiecedCall> call_;
};

class ProbedWriter final : public BlobWriter {
 public:
  ProbedWriter(std::unique_ptr<BlobWriter> writer, std::unique_ptr<PiecedCall> call)
      : writer_(std::move(writer)), call_(std::move(call)) {}

  Status append(ByteView bytes) override {
    return call_->piece([&] { return writer_->append(bytes); });
  }
  Result<Digest> finish() override {
    return call_->piece([&] { return writer_->finish(); });
  }

 private:
  const std::unique_ptr<BlobWriter> writer_;
  const std::unique_ptr<PiecedCall> call_;
};

}  // namespace

Result<std::unique_ptr<BlobWriter>> ProbedBlobs::create() {
  auto call = std::make_unique<PiecedCall>(calls_, names_.write);
  COT_ASSIGN(std::unique_ptr<BlobWriter> writer, call->piece([this] { return store_.create(); }));
  return std::unique_ptr<BlobWriter>(std::make_unique<ProbedWriter>(std::move(writer), std::move(call)));
}

Result<std::shared_ptr<const BlobReader>> ProbedBlobs::open(const Digest& digest) {
  auto call = std::make_unique<PiecedCall>(calls_, names_.read);
  COT_ASSIGN(std::shared_ptr<const BlobReader> reader, call->piece([&] { return store_.open(digest); }));
  return std::shared_ptr<const BlobReader>(std::make_shared<ProbedReader>(std::move(reader), std::move(call)));
}

}  // namespace coterie
