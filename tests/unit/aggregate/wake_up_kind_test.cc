#include "daemon/aggregate/waits/wake_up_kind.h"

#include <gtest/gtest.h>

#include <vector>

namespace profd::aggregate {
namespace {

using Names = std::vector<std::string_view>;

// Stacks as kernel 6.18 has them.
TEST(WakeUpKindTest, IsOfAThreadInTaskContext) {
  EXPECT_EQ(WakeUpKindOf(Names{"futex_wake", "do_futex", "__x64_sys_futex"}, false),
            WakeUpKind::kThread);
  // On loopback the sender's own call carries out the receiver's part.
  EXPECT_EQ(WakeUpKindOf(Names{"sock_def_readable", "tcp_rcv_established", "process_backlog",
                               "net_rx_action", "handle_softirqs", "do_softirq.part.0",
                               "__local_bh_enable_ip", "tcp_sendmsg", "ksys_write"},
                         false),
            WakeUpKind::kThread);
}

TEST(WakeUpKindTest, KnowsEndsAndSignals) {
  EXPECT_EQ(WakeUpKindOf(Names{"do_notify_parent", "do_exit", "do_group_exit"}, false),
            WakeUpKind::kExit);
  EXPECT_EQ(WakeUpKindOf(Names{"complete_signal", "__send_signal_locked", "do_send_sig_info",
                               "__x64_sys_kill"},
                         false),
            WakeUpKind::kSignal);
}

TEST(WakeUpKindTest, SpaceToWriteIsNothingForAReader) {
  EXPECT_EQ(WakeUpKindOf(
                Names{"unix_write_space", "sock_wfree", "consume_skb", "unix_stream_read_generic"},
                false),
            WakeUpKind::kSpurious);
}

TEST(WakeUpKindTest, DistinguishesInterrupts) {
  EXPECT_EQ(WakeUpKindOf(Names{"hrtimer_wakeup", "__hrtimer_run_queues", "hrtimer_interrupt",
                               "asm_sysvec_apic_timer_interrupt"},
                         true),
            WakeUpKind::kTimer);
  EXPECT_EQ(WakeUpKindOf(
                Names{"folio_wake_bit", "__read_end_io", "blk_mq_end_request", "blk_done_softirq",
                      "handle_softirqs", "__irq_exit_rcu", "common_interrupt"},
                true),
            WakeUpKind::kDisk);
  EXPECT_EQ(WakeUpKindOf(Names{"sock_def_readable", "tcp_rcv_established", "net_rx_action",
                               "handle_softirqs"},
                         true),
            WakeUpKind::kNet);
  EXPECT_EQ(WakeUpKindOf(Names{"complete", "some_driver_irq"}, true), WakeUpKind::kInterrupt);
}

TEST(WakeUpKindTest, TheKernelsSoftirqThreadIsNoThreadToWaitFor) {
  EXPECT_EQ(WakeUpKindOf(Names{"sock_def_readable", "__napi_poll", "net_rx_action",
                               "handle_softirqs", "run_ksoftirqd", "smpboot_thread_fn"},
                         false),
            WakeUpKind::kNet);
}

}  // namespace
}  // namespace profd::aggregate
