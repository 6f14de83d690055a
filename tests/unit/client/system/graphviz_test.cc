#include "client/system/graphviz.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "client/format/wait_dot.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

// A program in the place of dot.
std::string Script(const test::TempFolder& folder, const std::string& text) {
  const std::string path = folder.Path("dot");
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
  return path;
}

TEST(GraphvizTest, IsLookedUpInThePath) {
  const test::TempFolder folder;
  const auto none = FindGraphviz(folder.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  const std::string dot = Script(folder, "cat");
  const auto found = FindGraphviz(folder.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, dot);
}

TEST(GraphvizTest, TheGraphIsItsInputAndThePictureItsOutput) {
  const test::TempFolder folder;
  // More than a pipe holds, in both directions.
  const std::string graph(1u << 20, 'g');
  const auto drawn = DrawGraph(Script(folder, "printf '%s ' \"$@\"; cat"), graph);
  ASSERT_TRUE(drawn) << drawn.error().message;
  EXPECT_EQ(*drawn, "-Tsvg " + graph);
}

TEST(GraphvizTest, WhatItSaysOnFailureIsPassedOn) {
  const test::TempFolder folder;
  const auto drawn = DrawGraph(Script(folder, "echo 'syntax error' >&2; exit 1"), "x");
  ASSERT_FALSE(drawn);
  EXPECT_EQ(drawn.error().code, ErrorCode::kIo);
  EXPECT_EQ(drawn.error().message, folder.Path("dot") + " failed: syntax error");
  EXPECT_FALSE(DrawGraph(folder.Path("missing"), "x"));
}

TEST(GraphvizTest, DrawsWhatProfctlWrites) {
  const char* path = std::getenv("PATH");
  const auto dot = FindGraphviz(path == nullptr ? "" : path);
  if (!dot) GTEST_SKIP() << "Graphviz is not installed";
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  for (const std::string& name : testing::HostileNames()) {
    const auto waker = maker.AddPathThread(5000, name);
    maker.Add(thread, {"f"},
              testing::Blocked(v1::WAIT_LOCK, 10, 1, maker.AddPath({{.thread = waker}})));
  }
  for (const v1::Profile& profile :
       {testing::WaitingProfile(), testing::EmptyProfile(), maker.Make()}) {
    const auto drawn = DrawGraph(*dot, WaitDot(profile, WaitTable::Of(profile)));
    ASSERT_TRUE(drawn) << drawn.error().message;
    EXPECT_NE(drawn->find("<svg"), std::string::npos);
    EXPECT_EQ(drawn->find("<script"), std::string::npos);
  }
}

}  // namespace
}  // namespace profd::client
