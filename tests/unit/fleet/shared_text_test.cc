#include "daemon/fleet/shared_text.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/fleet/status.h"

namespace profd::fleet {
namespace {

TEST(SharedTextTest, AnotherProcessWrites) {
  auto text = SharedText::Make();
  ASSERT_TRUE(text);
  EXPECT_FALSE(text->Read());
  const pid_t child = ::fork();
  if (child == 0) {
    text->Write("first");
    text->Write("second");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(text->Read(), "second");
}

TEST(SharedTextTest, WhatIsTooLongIsNotWritten) {
  auto text = SharedText::Make();
  text->Write("a");
  text->Write(std::string(SharedText::kMaxBytes + 1, 'x'));
  EXPECT_EQ(text->Read(), "a");
  text->Write(std::string(SharedText::kMaxBytes, 'y'));
  EXPECT_EQ(text->Read()->size(), SharedText::kMaxBytes);
}

TEST(ExportStatusTest, ComesBackAsItWas) {
  const std::vector<ExportStatus> all{{.name = "a",
                                       .to = "files:/x",
                                       .sent = 1,
                                       .sent_bytes = UINT64_MAX,
                                       .sent_until_unix_ns = 3,
                                       .retries = 4,
                                       .spool_entries = 5,
                                       .spool_bytes = 6,
                                       .spool_limit_bytes = 7,
                                       .gaps = {{"spool_full", 8}},
                                       .last_error = "no \"space\"\n"},
                                      {}};
  const auto back = UnpackStatus(PackStatus(all));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, all);
}

TEST(ExportStatusTest, AnyOtherTextIsRefusedOrHarmless) {
  for (const char* text : {"", "{", "{}", "[1]", "null", "\xff"}) EXPECT_FALSE(UnpackStatus(text));
  const auto odd = UnpackStatus(R"([{"sent":-1,"name":3,"gaps":[1],"retries":"x"}])");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->front(), ExportStatus());
}

}  // namespace
}  // namespace profd::fleet
