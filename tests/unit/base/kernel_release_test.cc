#include "daemon/base/proc/kernel_release.h"

#include <gtest/gtest.h>

namespace profd {
namespace {

TEST(KernelRelease, ComparesAsNumbers) {
  EXPECT_EQ(ParseKernelRelease("6.1.0-37-amd64"), KernelRelease(6, 1));
  EXPECT_EQ(ParseKernelRelease("5.18"), kOldestKernel);
  EXPECT_LT(*ParseKernelRelease("5.9.1"), kOldestKernel);
  EXPECT_GT(*ParseKernelRelease("10.0-rc1"), kOldestKernel);
}

TEST(KernelRelease, WhatIsNoneIsNone) {
  for (const char* text : {"", "6", "6.", "six.one", ".1", "-6.1", "99999999999.1"})
    EXPECT_FALSE(ParseKernelRelease(text)) << text;
}

TEST(KernelRelease, LockdownOfOneKindForbidsReading) {
  EXPECT_TRUE(LockdownForbidsReading("none integrity [confidentiality]\n"));
  EXPECT_FALSE(LockdownForbidsReading("none [integrity] confidentiality\n"));
  EXPECT_FALSE(LockdownForbidsReading(""));
}

}  // namespace
}  // namespace profd
