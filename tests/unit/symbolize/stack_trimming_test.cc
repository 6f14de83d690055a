#include "daemon/symbolize/sample/stack_trimming.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace profd::symbolize {
namespace {

// The first frame that stays, of kernel frames given leaf first, separated by ";".
std::string LeafOf(const std::string& stack,
                   std::size_t (*trim)(std::span<const KernelRole>) = FramesToTrim) {
  std::vector<std::string> names;
  std::vector<KernelRole> roles;
  std::istringstream frames(stack);
  for (std::string name; std::getline(frames, name, ';');) {
    roles.push_back(RoleOf(name));
    names.push_back(name);
  }
  const std::size_t trimmed = trim(roles);
  return trimmed < names.size() ? names[trimmed] : "(user)";
}

const std::string kExit = "bpf_prog_89c3f76dcb51cc71_ex;bpf_trace_run1;";
const std::string kSyscall = ";do_syscall_64;entry_SYSCALL_64_after_hwframe";

// Stacks as taken on 6.18 at sched_exit_tp, and the function that waits in each.
TEST(StackTrimming, TheWaitingFunctionIsTheLeaf) {
  const auto leaf = [](const std::string& rest) { return LeafOf(kExit + rest + kSyscall); };
  EXPECT_EQ(leaf("__schedule;schedule;futex_do_wait;__futex_wait;futex_wait;do_futex"),
            "futex_do_wait");
  EXPECT_EQ(leaf("__schedule;schedule;do_nanosleep;hrtimer_nanosleep;common_nsleep"),
            "do_nanosleep");
  EXPECT_EQ(leaf("__schedule;schedule;anon_pipe_read;vfs_read;ksys_read"), "anon_pipe_read");
  EXPECT_EQ(leaf("__schedule;schedule;do_wait;kernel_wait4"), "do_wait");
  EXPECT_EQ(leaf("__schedule;schedule;schedule_hrtimeout_range_clock;do_epoll_wait"),
            "do_epoll_wait");
  EXPECT_EQ(leaf("__schedule;schedule;schedule_hrtimeout_range_clock;poll_schedule_timeout."
                 "constprop.0;do_select"),
            "do_select");
  EXPECT_EQ(leaf("__schedule;schedule;schedule_timeout;unix_stream_read_generic"),
            "unix_stream_read_generic");
  EXPECT_EQ(leaf("__schedule;schedule;schedule_timeout;wait_woken;sk_wait_data;tcp_recvmsg_locked"),
            "sk_wait_data");
  EXPECT_EQ(leaf("__schedule;schedule;io_schedule;folio_wait_bit_common;filemap_fault"),
            "folio_wait_bit_common");
  EXPECT_EQ(leaf("__schedule;schedule;io_schedule;bit_wait_io;__wait_on_bit;out_of_line_wait_on_"
                 "bit;__ext4_find_entry"),
            "__ext4_find_entry");
  EXPECT_EQ(leaf("__schedule;schedule;schedule_timeout;io_schedule_timeout;wait_for_completion_io_"
                 "timeout;submit_bio_wait"),
            "wait_for_completion_io_timeout");
  EXPECT_EQ(leaf("__schedule;schedule;schedule_timeout;__wait_for_common;wait_for_completion_state;"
                 "kernel_clone"),
            "wait_for_completion_state");
  EXPECT_EQ(
      leaf("__schedule;schedule;schedule_preempt_disabled;rwsem_down_read_slowpath;down_read"),
      "rwsem_down_read_slowpath");
  EXPECT_EQ(leaf("__schedule;schedule;locks_lock_inode_wait;__do_sys_flock"),
            "locks_lock_inode_wait");
  EXPECT_EQ(leaf("__schedule;schedule;sigsuspend.isra.0;__x64_sys_rt_sigsuspend"),
            "sigsuspend.isra.0");
  EXPECT_EQ(leaf("__schedule;schedule;__x64_sys_sched_yield"), "__x64_sys_sched_yield");
  EXPECT_EQ(LeafOf(kExit + "__schedule;schedule;worker_thread;kthread;ret_from_fork"),
            "worker_thread");
}

TEST(StackTrimming, ThePreemptedFunctionIsTheLeaf) {
  EXPECT_EQ(LeafOf(kExit + "__schedule;__cond_resched;filemap_read;vfs_read" + kSyscall),
            "filemap_read");
  EXPECT_EQ(LeafOf(kExit +
                   "__schedule;preempt_schedule_irq;irqentry_exit;asm_sysvec_apic_timer_interrupt;"
                   "clear_page_erms;get_page_from_freelist"),
            "clear_page_erms");
  EXPECT_EQ(
      LeafOf(kExit + "__schedule;preempt_schedule_irq;raw_irqentry_exit_cond_resched;irqentry_exit;"
                     "sysvec_apic_timer_interrupt;asm_sysvec_apic_timer_interrupt;copy_page"),
      "copy_page");
  EXPECT_EQ(
      LeafOf(kExit +
             "__schedule;preempt_schedule_common;preempt_schedule_thunk;_raw_spin_unlock;dput"),
      "_raw_spin_unlock");
}

TEST(StackTrimming, PreemptedInUserModeNothingOfTheKernelStays) {
  for (const std::string entry : {"asm_exc_page_fault", "asm_sysvec_apic_timer_interrupt",
                                  "asm_sysvec_reschedule_ipi", "asm_common_interrupt"})
    EXPECT_EQ(LeafOf(kExit + "__schedule;schedule;irqentry_exit_to_user_mode;" + entry), "(user)");
  EXPECT_EQ(LeafOf(kExit + "__schedule;schedule;exit_to_user_mode_loop" + kSyscall),
            "do_syscall_64");
}

TEST(StackTrimming, AFaultThatWaitsKeepsItsFrames) {
  EXPECT_EQ(
      LeafOf(kExit + "__schedule;schedule;io_schedule;__folio_lock;filemap_fault;exc_page_fault;"
                     "asm_exc_page_fault"),
      "__folio_lock");
  EXPECT_EQ(LeafOf(kExit + "__schedule;schedule;exc_page_fault;asm_exc_page_fault"),
            "exc_page_fault");
}

TEST(StackTrimming, WhateverTheHook) {
  const std::string wait = "schedule;do_nanosleep;hrtimer_nanosleep";
  EXPECT_EQ(LeafOf("bpf_prog_a22b_sw;bpf_trace_run4;__schedule;" + wait), "do_nanosleep")
      << "sched_switch";
  EXPECT_EQ(LeafOf("finish_task_switch.isra.0;__schedule;" + wait), "do_nanosleep") << "kprobe";
  EXPECT_EQ(LeafOf("__schedule;" + wait), "do_nanosleep") << "task iterator";
  EXPECT_EQ(LeafOf(";;bpf_trampoline_6442;__traceiter_sched_switch;__schedule;" + wait),
            "do_nanosleep");
  EXPECT_EQ(LeafOf(kExit + "schedule_tail;ret_from_fork;ret_from_fork_asm"), "ret_from_fork")
      << "a thread's first switch-in";
  EXPECT_EQ(LeafOf("finish_task_switch.isra.0;schedule_tail;ret_from_fork"), "ret_from_fork");
}

TEST(StackTrimming, WithoutASwitchNothingIsKnown) {
  EXPECT_EQ(LeafOf("schedule;do_nanosleep"), "schedule");
  EXPECT_EQ(LeafOf(";;;"), "");
  EXPECT_EQ(FramesToTrim({}), 0u);
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "f" + std::to_string(i) + ";";
  EXPECT_EQ(LeafOf(deep + "__schedule;schedule;g"), "f0")
      << "too far from the leaf to be the switch";
}

// Stacks as taken on 6.18 at sched_waking, and who wants the wake-up in each.
TEST(StackTrimming, OfAWakeUpTheLeafIsWhoWantsIt) {
  const auto leaf = [](const std::string& stack) { return LeafOf(stack, WakeUpFramesToTrim); };
  const std::string hook = "bpf_prog_89c3f76dcb51cc71_on_waking;bpf_trace_run1;";
  EXPECT_EQ(leaf(hook + "try_to_wake_up;wake_up_q;futex_wake;do_futex"), "futex_wake");
  EXPECT_EQ(leaf(hook + "try_to_wake_up;hrtimer_wakeup;__hrtimer_run_queues"), "hrtimer_wakeup");
  EXPECT_EQ(leaf(hook + "try_to_wake_up;autoremove_wake_function;__wake_up_common;"
                        "__wake_up_sync_key;anon_pipe_write;vfs_write"),
            "anon_pipe_write");
  EXPECT_EQ(leaf(hook + "try_to_wake_up;ep_autoremove_wake_function;__wake_up_common;__wake_up;"
                        "ep_poll_callback;__wake_up_common;__wake_up_locked_key;eventfd_write"),
            "eventfd_write");
  EXPECT_EQ(leaf(hook + "try_to_wake_up"), "(user)");
  EXPECT_EQ(leaf("something_else;futex_wake"), "something_else");
}

}  // namespace
}  // namespace profd::symbolize
