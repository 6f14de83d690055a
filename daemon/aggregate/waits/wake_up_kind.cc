#include "daemon/aggregate/waits/wake_up_kind.h"

#include <algorithm>
#include <array>

namespace profd::aggregate {
namespace {

struct Pattern {
  std::string_view name;  // a whole name, or its begin
  bool prefix = false;
  WakeUpKind kind = WakeUpKind::kThread;
};

// By the functions that every wake-up of a kind passes through, on all kernels since 5.18. The one
// that is nearest to the wake-up decides: a disk's interrupt may run timers on its way out.
constexpr std::array kOfInterrupts{
    Pattern{"hrtimer_", true, WakeUpKind::kTimer},
    Pattern{"__hrtimer_", true, WakeUpKind::kTimer},
    Pattern{"call_timer_fn", false, WakeUpKind::kTimer},
    Pattern{"run_timer_softirq", false, WakeUpKind::kTimer},
    Pattern{"posix_timer_fn", false, WakeUpKind::kTimer},
    Pattern{"it_real_fn", false, WakeUpKind::kTimer},
    Pattern{"timerfd_", true, WakeUpKind::kTimer},
    Pattern{"blk_", true, WakeUpKind::kDisk},
    Pattern{"bio_endio", false, WakeUpKind::kDisk},
    Pattern{"nvme_", true, WakeUpKind::kDisk},
    Pattern{"scsi_", true, WakeUpKind::kDisk},
    Pattern{"virtblk_", true, WakeUpKind::kDisk},
    Pattern{"folio_end_", true, WakeUpKind::kDisk},
    Pattern{"net_rx_action", false, WakeUpKind::kNet},
    Pattern{"net_tx_action", false, WakeUpKind::kNet},
    Pattern{"__napi_poll", false, WakeUpKind::kNet},
    Pattern{"napi_", true, WakeUpKind::kNet},
    Pattern{"netif_receive_skb", true, WakeUpKind::kNet},
};

constexpr std::array kOfThreads{
    Pattern{"unix_write_space", false, WakeUpKind::kSpurious},
    Pattern{"do_notify_parent", false, WakeUpKind::kExit},
    Pattern{"do_exit", false, WakeUpKind::kExit},
    Pattern{"complete_signal", false, WakeUpKind::kSignal},
    Pattern{"__send_signal_locked", false, WakeUpKind::kSignal},
    Pattern{"send_signal_locked", false, WakeUpKind::kSignal},
    Pattern{"send_sigqueue", false, WakeUpKind::kSignal},
};

WakeUpKind Nearest(std::span<const std::string_view> kernel, std::span<const Pattern> patterns,
                   WakeUpKind otherwise) {
  for (std::string_view name : kernel) {
    name = name.substr(0, name.find('.'));
    for (const Pattern& pattern : patterns)
      if (pattern.prefix ? name.starts_with(pattern.name) : name == pattern.name)
        return pattern.kind;
  }
  return otherwise;
}

}  // namespace

WakeUpKind WakeUpKindOf(std::span<const std::string_view> kernel, bool interrupt) {
  const bool left_over =
      std::ranges::any_of(kernel, [](std::string_view name) { return name == "run_ksoftirqd"; });
  if (interrupt || left_over) return Nearest(kernel, kOfInterrupts, WakeUpKind::kInterrupt);
  return Nearest(kernel, kOfThreads, WakeUpKind::kThread);
}

}  // namespace profd::aggregate
