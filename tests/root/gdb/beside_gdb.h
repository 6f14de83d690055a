// BesideGdb: the fixture of tests that hold our stacks of blocked threads against gdb's.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/wire/event.h"
#include "tests/root/gdb/gdb.h"
#include "tests/root/source/live_source.h"

namespace profd::gdb {

// What came of one process.
struct Comparison {
  std::size_t threads = 0;  // that the process had when it was last looked at
  std::size_t frames = 0;   // of all stacks that were equal
  std::size_t deepest = 0;
  std::size_t truncated = 0;           // stacks of which we keep the leaf side only
  std::map<std::uint32_t, bool> same;  // by tid: those that were compared
  std::string not_compared;            // the others, and why
};

// Ours come from the snapshot at a session's end, with tables made by the real service; gdb's from
// stopping the process right after. Addresses of physical frames are compared, one by one, of
// threads that have not run in between; the others are looked at again.
class BesideGdb : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite() { live_.reset(); }
  void SetUp() override;

  // Every thread must have been compared in the end, and be the same.
  Comparison ExpectSameStacks(std::uint32_t pid, const std::string& name);

 private:
  struct Ours {
    std::map<std::uint32_t, Switches> before;
    std::map<std::uint32_t, wire::StackEvent> stacks;  // by tid
  };
  // Asks again until no table is missing.
  [[nodiscard]] static Ours Snapshot(std::uint32_t pid);
  static void Compare(std::uint32_t pid, Comparison& comparison);

  static inline std::unique_ptr<source::LiveSource> live_;
};

}  // namespace profd::gdb
