#include "daemon/source/probe/interrupt_entries.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace profd::source {
namespace {

InterruptEntries Find(const std::string& text) {
  std::istringstream kallsyms(text);
  return FindInterruptEntries(kallsyms);
}

// As kernel 6.18 has them.
const std::string kText =
    "ffffffff81000080 T entry_SYSCALL_64\n"
    "ffffffff81000300 T __irqentry_text_start\n"
    "ffffffff81000c60 T asm_exc_page_fault\n"
    "ffffffff81000d40 T asm_common_interrupt\n"
    "ffffffff81000df0 T asm_sysvec_apic_timer_interrupt\n"
    "ffffffff81000f70 T __irqentry_text_end\n"
    "ffffffff81000f70 T common_interrupt_return\n"
    "ffffffff810015b0 T asm_exc_nmi\n";

TEST(InterruptEntries, BeginAfterTheExceptions) {
  EXPECT_EQ(Find(kText), (InterruptEntries{0xffffffff81000d40, 0xffffffff81000f70}));
}

TEST(InterruptEntries, TheFirstOneInAnyOrderCounts) {
  EXPECT_EQ(Find("ffffffff81000df0 T asm_sysvec_reboot\n"
                 "ffffffff81000dd0 T asm_sysvec_irq_work\n"
                 "ffffffff81000e00 T __irqentry_text_end\n"),
            (InterruptEntries{0xffffffff81000dd0, 0xffffffff81000e00}));
}

TEST(InterruptEntries, AddressesThatAreHiddenSayNothing) {
  EXPECT_EQ(Find("0000000000000000 T asm_common_interrupt\n"
                 "0000000000000000 T __irqentry_text_end\n"),
            InterruptEntries{});
}

TEST(InterruptEntries, WithoutAnEndNothingIsKnown) {
  EXPECT_EQ(Find("ffffffff81000d40 T asm_common_interrupt\n"), InterruptEntries{});
  EXPECT_EQ(Find(""), InterruptEntries{});
  EXPECT_EQ(Find("what is this\n"), InterruptEntries{});
}

}  // namespace
}  // namespace profd::source
