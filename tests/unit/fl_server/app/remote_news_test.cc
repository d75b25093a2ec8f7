// What the node that leads tells of models, as the one that serves them hears it.
#include "fl_server/app/remote_news.h"

#include <gtest/gtest.h>

#include <deque>

#include "fl_server/app/model_news.h"

namespace coterie {
namespace {

class ScriptedSource final : public EventSource {
 public:
  std::optional<std::string> next() override {
    if (pieces.empty()) return is_over ? std::nullopt : std::optional<std::string>("");
    std::string piece = pieces.front();
    pieces.pop_front();
    return piece;
  }
  bool has_more() const override { return false; }
  void when_ready(std::function<void()> wake) override { wake_ = std::move(wake); }
  void wake() { wake_(); }

  std::deque<std::string> pieces;
  bool is_over = false;

 private:
  std::function<void()> wake_;
};

class RemoteNewsTest : public testing::Test {
 protected:
  std::string piece(std::string_view kind) { return event_text("e:1", kind, "{\"of\": \"event: round_done\"}"); }

  ModelNews news_;
  std::shared_ptr<ScriptedSource> source_;
  int opened_ = 0;
  RemoteNews remote_{[this]() -> Result<std::shared_ptr<EventSource>> {
                       ++opened_;
                       if (!source_) return Error(ErrorCode::unavailable, "nobody leads");
                       return std::shared_ptr<EventSource>(source_);
                     },
                     news_};
};

TEST_F(RemoteNewsTest, OnlyWhatChangesModelsIsNews) {
  for (const char* const kind : {"round_done", "model_released", "job_created", "begin", "events_missed"})
    EXPECT_TRUE(RemoteNews::has_news(piece(kind))) << kind;
  for (const char* const kind : {"updates_accepted", "round_opened", "nodes_changed", "round_done_", ""})
    EXPECT_FALSE(RemoteNews::has_news(piece(kind))) << kind;
  EXPECT_TRUE(RemoteNews::has_news(piece("updates_accepted") + piece("round_done"))) << "of several in one piece";
  EXPECT_FALSE(RemoteNews::has_news("id: e:9\n\n"));
  EXPECT_FALSE(RemoteNews::has_news(""));
}

TEST_F(RemoteNewsTest, AStreamIsReadUntilNothingIsLeft) {
  EXPECT_FALSE(remote_.begin()) << "nobody leads";
  EXPECT_FALSE(remote_.read());
  source_ = std::make_shared<ScriptedSource>();
  EXPECT_TRUE(remote_.begin());
  EXPECT_TRUE(news_.wait(Millis(0)).has_mail) << "the first question is to be asked";
  EXPECT_FALSE(remote_.begin()) << "there is one already";
  EXPECT_EQ(opened_, 2);
  EXPECT_FALSE(remote_.read());
  source_->pieces = {piece("round_done"), piece("updates_accepted")};
  source_->wake();
  const ModelNews::Woken woken = news_.wait(Millis(0));
  EXPECT_TRUE(woken.has_mail);
  EXPECT_FALSE(woken.has_news);
  EXPECT_TRUE(remote_.read());
  EXPECT_FALSE(remote_.read());
  source_->pieces = {piece("updates_accepted")};
  EXPECT_FALSE(remote_.read());
}

TEST_F(RemoteNewsTest, AStreamThatEndsBeginsAnewAndThatIsNews) {
  source_ = std::make_shared<ScriptedSource>();
  ASSERT_TRUE(remote_.begin());
  source_->pieces = {piece("model_released")};
  source_->is_over = true;
  EXPECT_TRUE(remote_.read()) << "what came before the end counts";
  EXPECT_FALSE(remote_.read());
  source_ = std::make_shared<ScriptedSource>();
  source_->pieces = {piece("begin")};
  EXPECT_TRUE(remote_.begin());
  EXPECT_TRUE(remote_.read()) << "what happened until then is not told: look";
  EXPECT_FALSE(remote_.read());
}

}  // namespace
}  // namespace coterie
