#include "daemon/fleet/profile/frame_names.h"

#include <gtest/gtest.h>

namespace profd::fleet {
namespace {

TEST(FrameNames, AFunctionIsItsNameOrItsPlaceInItsFile) {
  symbolize::Frame frame;
  EXPECT_EQ(FunctionName(frame), "[unknown]");
  frame.module = "/usr/lib/libx.so";
  frame.offset = 0x40;
  EXPECT_EQ(FunctionName(frame), "libx.so+0x40");
  frame.name = "libx.so!fn_40";
  EXPECT_EQ(FunctionName(frame), "libx.so!fn_40");
}

// An address in a process is another one in each process.
TEST(FrameNames, AFunctionInMemoryIsNotCalledByItsAddress) {
  symbolize::Frame frame;
  frame.name = "[code made at run time]!fn_7f0000001000";
  EXPECT_EQ(FunctionName(frame), "[code made at run time]");
}

}  // namespace
}  // namespace profd::fleet
