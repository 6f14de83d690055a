#include "daemon/symbolize/names/kallsyms.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::symbolize {
namespace {

// "name module" of the symbol at an address.
std::string At(const Kallsyms& kallsyms, std::uint64_t address) {
  const auto symbol = kallsyms.Find(address);
  if (!symbol) return "-";
  return std::string(symbol->name) + " " + std::string(symbol->module);
}

TEST(Kallsyms, KernelModulesAndBpf) {
  // Modules and BPF programs are not in the order of their addresses.
  const auto kallsyms = Kallsyms::Parse(
      "ffffffff81000000 T _stext\n"
      "ffffffff81000100 T do_nanosleep\n"
      "ffffffff81000200 t schedule_timeout\n"
      "ffffffff82000000 T _etext\n"
      "ffffffffc0900000 t nft_do_chain\t[nf_tables]\n"
      "ffffffffc0800000 t btrfs_sync_file\t[btrfs]\n"
      "ffffffffc0035c0c t bpf_prog_89c3f76dcb51cc71_ex\t[bpf]\n"
      "ffffffffc0211000 t bpf_trampoline_6442\t[bpf]\n"
      "ffffffffc0219000 t ftrace_trampoline\t[__builtin__ftrace]\n");
  ASSERT_TRUE(kallsyms) << kallsyms.error().message;
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000000), "_stext [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000123), "do_nanosleep [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffff810001ff), "do_nanosleep [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000200), "schedule_timeout [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffffc0800010), "btrfs_sync_file [btrfs]");
  EXPECT_EQ(At(*kallsyms, 0xffffffffc0900010), "nft_do_chain [nf_tables]");
  EXPECT_EQ(At(*kallsyms, 0xffffffffc0035c10), "bpf_prog_89c3f76dcb51cc71_ex [bpf]");
  EXPECT_EQ(At(*kallsyms, 0xffffffffc0211001), "bpf_trampoline_6442 [bpf]");
  EXPECT_EQ(At(*kallsyms, 0xffffffffc0219001), "ftrace_trampoline [__builtin__ftrace]");
  EXPECT_EQ(kallsyms->size(), 9u);
}

TEST(Kallsyms, AFunctionDoesNotReachAcrossAGap) {
  const auto kallsyms =
      Kallsyms::Parse("ffffffff81000000 T first\nffffffffc0000000 t second\t[m]\n");
  ASSERT_TRUE(kallsyms);
  EXPECT_EQ(At(*kallsyms, 0xffffffff80ffffff), "-");
  EXPECT_EQ(At(*kallsyms, 0xffffffff810fffff), "first [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffff81100000), "-") << "longer than any function";
  EXPECT_EQ(At(*kallsyms, 0xffffffffc00fffff), "second [m]");
  EXPECT_EQ(At(*kallsyms, 0xffffffffc0100000), "-");
  EXPECT_EQ(At(*kallsyms, ~0ull), "-");
  EXPECT_EQ(At(*kallsyms, 0), "-");
}

TEST(Kallsyms, DataEndsAFunctionAndHasNoName) {
  const auto kallsyms = Kallsyms::Parse(
      "ffffffff81000000 T function\n"
      "ffffffff81000100 D data\n"
      "ffffffff81000200 W weak_function\n"
      "ffffffff81000300 B bss\n"
      "ffffffff81000300 R rodata\n");
  ASSERT_TRUE(kallsyms);
  EXPECT_EQ(At(*kallsyms, 0xffffffff810000ff), "function [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000100), "-");
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000200), "weak_function [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000300), "-");
}

TEST(Kallsyms, OneNameOfSeveral) {
  for (const char* text :
       {"ffffffff81000000 t local\nffffffff81000000 T __global\nffffffff81000000 T global\n"
        "ffffffff81000000 W lobal\nffffffff81000000 D data\n",
        "ffffffff81000000 D data\nffffffff81000000 W lobal\nffffffff81000000 T global\n"
        "ffffffff81000000 T __global\nffffffff81000000 t local\n"}) {
    const auto kallsyms = Kallsyms::Parse(text);
    ASSERT_TRUE(kallsyms);
    EXPECT_EQ(At(*kallsyms, 0xffffffff81000000), "global [kernel]");
    EXPECT_EQ(kallsyms->size(), 1u);
  }
}

TEST(Kallsyms, HiddenAddressesAreAReason) {
  const auto hidden = Kallsyms::Parse("0000000000000000 T _stext\n0000000000000000 T schedule\n");
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(hidden.error().message,
            "kernel addresses are hidden: needs CAP_SYSLOG or kernel.kptr_restrict=0");
}

TEST(Kallsyms, LinesThatAreNoneAreLeftOut) {
  const auto kallsyms = Kallsyms::Parse(
      "\n"
      "garbage\n"
      "ffffffff81000000\n"
      "ffffffff81000000 T\n"
      "ffffffff81000000 T \n"
      "zzzzffff81000000 T no_address\n"
      "ffffffff81000010 T good\n"
      "ffffffff81000020 T last_without_newline");
  ASSERT_TRUE(kallsyms);
  EXPECT_EQ(kallsyms->size(), 2u);
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000010), "good [kernel]");
  EXPECT_EQ(At(*kallsyms, 0xffffffff81000021), "last_without_newline [kernel]");
  EXPECT_EQ(Kallsyms::Parse("").error().message, "/proc/kallsyms lists no symbols");
}

}  // namespace
}  // namespace profd::symbolize
