#include "daemon/base/proc/proc_fs.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace profd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProcFsTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& content) { folder_.Write(path, content); }

  test::TempFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

TEST_F(ProcFsTest, ReadsBelowItsRoot) {
  Write("12/comm", "cat\n");
  const ProcFs proc(root_);
  const auto content = proc.Read("12/comm");
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_EQ(*content, "cat\n");
  EXPECT_EQ(proc.Path("12/comm"), root_.string() + "/12/comm");
  EXPECT_EQ(proc.Path(""), root_.string());
}

TEST_F(ProcFsTest, WhatIsNotThereIsNotFound) {
  const auto content = ProcFs(root_).Read("12/comm");
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(content.error().message, HasSubstr("no such file"));
}

TEST_F(ProcFsTest, ReadsAreBounded) {
  Write("long", std::string(200'000, 'x'));
  const auto all = ProcFs(root_).Read("long", 200'000);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 200'000u);
  const auto refused = ProcFs(root_).Read("long", 199'999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_THAT(refused.error().message, HasSubstr("longer than 199999 bytes"));
}

TEST_F(ProcFsTest, ReadLink) {
  std::filesystem::create_symlink("/bin/cat", root_ / "exe");
  const auto target = ProcFs(root_).ReadLink("exe");
  ASSERT_TRUE(target);
  EXPECT_EQ(*target, "/bin/cat");
  EXPECT_FALSE(ProcFs(root_).ReadLink("none"));
}

TEST_F(ProcFsTest, NumbersAscendAndOtherNamesAreLeftOut) {
  for (const char* name : {"30/x", "4/x", "self/x", "5a/x", "-6/x", "99999999999/x"})
    Write(name, "");
  const auto numbers = ProcFs(root_).ListNumbers("");
  ASSERT_TRUE(numbers);
  EXPECT_THAT(*numbers, ElementsAre(4, 30));
  EXPECT_FALSE(ProcFs(root_).ListNumbers("none"));
}

TEST(ProcFsRealTest, ThisProcessIsThere) {
  const auto pids = ProcFs().ListNumbers("");
  ASSERT_TRUE(pids);
  EXPECT_THAT(*pids, Contains(static_cast<std::uint32_t>(::getpid())));
  EXPECT_TRUE(ProcFs().Read("self/stat"));
}

}  // namespace
}  // namespace profd
