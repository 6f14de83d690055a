#include "client/system/exit_code.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

TEST(ExitCodeTest, OfErrors) {
  EXPECT_EQ(ToInt(ExitCodeOf(ErrorCode::kInvalidArgument)), 2);
  EXPECT_EQ(ToInt(ExitCodeOf(ErrorCode::kNotFound)), 3);
  EXPECT_EQ(ToInt(ExitCodeOf(ErrorCode::kUnavailable)), 4);
  EXPECT_EQ(ToInt(ExitCodeOf(ErrorCode::kPermissionDenied)), 5);
  for (const ErrorCode code : {ErrorCode::kUnsupported, ErrorCode::kExhausted, ErrorCode::kIo,
                               ErrorCode::kCorrupt, ErrorCode::kInternal})
    EXPECT_EQ(ToInt(ExitCodeOf(code)), 1);
}

TEST(ExitCodeTest, TheWayBackIsTheSame) {
  for (int exit_code = 1; exit_code <= 5; ++exit_code)
    EXPECT_EQ(ToInt(ExitCodeOf(ErrorCodeOfExit(exit_code))), exit_code);
  EXPECT_EQ(ErrorCodeOfExit(139), ErrorCode::kInternal);
}

TEST(ExitCodeTest, OfCommands) {
  EXPECT_EQ(ExitCodeOfWaitStatus(0), 0);
  EXPECT_EQ(ExitCodeOfWaitStatus(42 << 8), 42);
  EXPECT_EQ(ExitCodeOfWaitStatus(9), 137);
}

}  // namespace
}  // namespace profd::client
