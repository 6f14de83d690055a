// What comes back from a reader that a hostile process has taken over.
#include "daemon/labels/label_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "daemon/reader/message.h"
#include "tests/support/direct_reader.h"

namespace profd::labels {
namespace {

using reader::Packer;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

constexpr ProcessKey kProcess{10, 1};

std::string Answer(std::uint32_t entry_bytes, const std::string& refused,
                   const std::vector<std::string>& keys) {
  Packer answer;
  answer.Number(true).Number(std::int64_t{-64}).Number(std::uint32_t{3}).Number(entry_bytes);
  answer.Text(refused).Number(static_cast<std::uint32_t>(keys.size()));
  for (const auto& key : keys) answer.Text(key);
  return answer.Take();
}

class LabelClientTest : public ::testing::Test {
 protected:
  Result<std::optional<LabelFacts>> Find(const std::string& answer) {
    readers_.answers = {answer};
    return client_.Find(kProcess, milliseconds(50));
  }

  test::LyingReaders readers_;
  LabelClient client_{readers_};
};

TEST_F(LabelClientTest, Facts) {
  const auto facts = Find(Answer(16, "", {"step", "phase"}));
  ASSERT_TRUE(facts && *facts);
  EXPECT_EQ((*facts)->variable.offset, -64);
  EXPECT_EQ((*facts)->variable.module, 3u);
  EXPECT_THAT((*facts)->keys, ElementsAre("step", "phase"));
}

TEST_F(LabelClientTest, None) {
  const auto facts = Find(Packer().Number(false).Take());
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_FALSE(*facts);
}

TEST_F(LabelClientTest, Nonsense) {
  EXPECT_FALSE(Find(""));
  EXPECT_FALSE(Find(Packer().Number(false).Number(1).Take()));
  EXPECT_FALSE(Find(Answer(12, "", {}))) << "no vector has such entries";
  EXPECT_FALSE(Find(Answer(16, "a\nb", {}))) << "people read it";
  EXPECT_FALSE(Find(Answer(16, std::string(300, 'x'), {})));
  EXPECT_FALSE(Find(Answer(16, "", {std::string(256, 'x')})));
  EXPECT_FALSE(Find(Answer(16, "", std::vector<std::string>(300, "x"))));
  const std::string whole = Answer(16, "why", {"step"});
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_FALSE(Find(whole.substr(0, i)));
  EXPECT_FALSE(Find(whole + "x"));
}

TEST(LabelParserTest, AnswersForThisProcess) {
  test::DirectReaders readers(std::make_unique<LabelParser>());
  LabelClient client(readers);
  const auto facts = client.Find({static_cast<std::uint32_t>(::getpid()), 1}, milliseconds(50));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_FALSE(*facts);
}

}  // namespace
}  // namespace profd::labels
