#include "daemon/source/probe/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>

#include "daemon/source/probe/capabilities.h"

namespace profd::source {
namespace {

using ::testing::HasSubstr;

std::uint64_t Bit(int number) { return std::uint64_t{1} << number; }

constexpr std::uint64_t kAll = ~std::uint64_t{0};

TEST(Features, OldKernelsAreRefusedInOneLine) {
  const auto old = CheckRelease("5.10.0-30-amd64");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(old.error().message, "kernel 5.10 is too old: profd needs 5.18 or newer");
  for (const char* release : {"4.19.0", "5.17.15", "2.6.32", "", "6", "linux", "6.x"})
    EXPECT_FALSE(CheckRelease(release)) << release;
  for (const char* release : {"5.18.0", "5.19", "6.1.0-37-amd64", "6.18.44-custom-1", "10.0.1"})
    EXPECT_TRUE(CheckRelease(release)) << release;
}

TEST(Features, AKernelWithoutTypesIsRefused) {
  Features features;
  const auto none = ReadKernelTypes("/nonexistent/btf/vmlinux", features);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(none.error().message, "this kernel has no BTF (/nonexistent/btf/vmlinux)");
  EXPECT_THAT(none.error().hint, HasSubstr("CONFIG_DEBUG_INFO_BTF=y"));

  const auto other = ReadKernelTypes("/proc/self/exe", features);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().code, ErrorCode::kUnsupported) << "types that cannot be read are there";
  EXPECT_THAT(other.error().message, HasSubstr("/proc/self/exe"));
}

TEST(Features, LockdownIsNamed) {
  EXPECT_TRUE(CheckLockdown("[none] integrity confidentiality\n"));
  EXPECT_TRUE(CheckLockdown("none [integrity] confidentiality\n"));
  const auto locked = CheckLockdown("none integrity [confidentiality]\n");
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, ErrorCode::kUnsupported);
}

TEST(Features, MissingCapabilitiesAreNamed) {
  const auto none = CheckCapabilities(0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(none.error().message,
            "no right to load BPF programs: CAP_BPF and CAP_PERFMON are missing");
  EXPECT_NE(none.error().hint.find("root"), std::string::npos);

  const auto one = CheckCapabilities(kAll & ~Bit(CAP_PERFMON) & ~Bit(CAP_SYS_ADMIN));
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().message, "no right to load BPF programs: CAP_PERFMON is missing");
}

TEST(Features, WhatOnlyMakesLessVisibleIsNoError) {
  EXPECT_TRUE(CheckCapabilities(Bit(CAP_BPF) | Bit(CAP_PERFMON)));
  EXPECT_EQ(MissingCapabilities(Bit(CAP_BPF) | Bit(CAP_PERFMON)),
            (std::vector<std::string>{"CAP_SYS_PTRACE", "CAP_SYSLOG", "CAP_DAC_READ_SEARCH",
                                      "CAP_CHECKPOINT_RESTORE"}));
  EXPECT_TRUE(MissingCapabilities(kAll).empty());
}

TEST(Features, SysAdminStandsForTheNewerOnes) {
  EXPECT_TRUE(CheckCapabilities(Bit(CAP_SYS_ADMIN)));
  EXPECT_EQ(MissingCapabilities(Bit(CAP_SYS_ADMIN)),
            (std::vector<std::string>{"CAP_SYS_PTRACE", "CAP_SYSLOG", "CAP_DAC_READ_SEARCH"}));
}

TEST(Features, TheHintNamesWhatStandsInTheWay) {
  EXPECT_THAT(HintFor(kAll & ~Bit(CAP_SYS_ADMIN), 3),
              HasSubstr("sysctl -w kernel.perf_event_paranoid=2"));
  EXPECT_THAT(HintFor(kAll, 2), HasSubstr("run it as root, or with CAP_BPF, CAP_PERFMON"));
  EXPECT_THAT(HintFor(Bit(CAP_BPF), 3), HasSubstr("run it as root"));
  EXPECT_THAT(HintFor(kAll | Bit(CAP_SYS_ADMIN), 3), HasSubstr("run it as root"));
}

TEST(Features, NamesAreJoinedAsPeopleDo) {
  EXPECT_EQ(JoinNames({}), "");
  EXPECT_EQ(JoinNames({"a"}), "a");
  EXPECT_EQ(JoinNames({"a", "b"}), "a and b");
  EXPECT_EQ(JoinNames({"a", "b", "c"}), "a, b and c");
}

}  // namespace
}  // namespace profd::source
