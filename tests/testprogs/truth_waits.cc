#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"
#include "tests/testprogs/truth.h"

namespace truth {

using profd::testprog::RawSleep;
using profd::testprog::RawSleepUntil;

PROFD_NAMED void SleepTenth(std::int64_t ns) { RawSleep(ns); }
PROFD_NAMED void SleepBeyondTheEnd(std::int64_t ns) { RawSleep(ns); }
PROFD_NAMED void WaitFirst(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void WaitRest(std::int64_t until_ns) { RawSleepUntil(until_ns); }
PROFD_NAMED void WaitThree(std::int64_t ns) { RawSleep(ns); }
PROFD_NAMED void WaitSeven(std::int64_t ns) { RawSleep(ns); }
PROFD_NAMED void WaitBriefly(std::int64_t ns) { RawSleep(ns); }
PROFD_NAMED void WaitTenfold(std::int64_t ns) { RawSleep(ns); }

void Sleep(Case& run) {
  run.report.Start("sleeper", [&run](ThreadTruth& truth) {
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    while (MonotonicNs() < end_ns) {
      truth.Phase("truth::SleepTenth", [] { SleepTenth(100'000'000); });
    }
  });
}

void LongSleep(Case& run) {
  // The sleeper does not end before its sleep does: it reports before it, not after.
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);
  run.report.Start("long-sleeper", [&run](ThreadTruth& truth) {
    run.report.Add(truth.Finish());
    SleepBeyondTheEnd(run.options.ns * 10);
  });
  const timespec limit{.tv_sec = run.options.ns / 1'000'000'000,
                       .tv_nsec = run.options.ns % 1'000'000'000};
  sigtimedwait(&end, nullptr, &limit);
  run.report.Print();
  _exit(0);
}

void Periodic(Case& run) {
  run.report.Start("periodic", [&run](ThreadTruth& truth) {
    const std::int64_t begin_ns = MonotonicNs();
    const std::int64_t period_ns = run.options.period_ns;
    std::int64_t beat_ns = begin_ns;
    while (beat_ns < begin_ns + run.options.ns) {
      truth.Phase("truth::WaitFirst", [&] { WaitFirst(beat_ns + period_ns * 3 / 10); });
      truth.Phase("truth::WaitRest", [&] { WaitRest(beat_ns + period_ns); });
      // Beats that were missed (no sleep is as short as 10 us) are left out: the beat stays the
      // same.
      beat_ns += std::max<std::int64_t>(1, (MonotonicNs() - beat_ns) / period_ns) * period_ns;
    }
  });
}

void Alternate(Case& run) {
  run.report.Start("alternate", [&run](ThreadTruth& truth) {
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    while (MonotonicNs() < end_ns) {
      truth.Phase("truth::WaitThree", [] { WaitThree(3'000'000); });
      truth.Phase("truth::WaitSeven", [] { WaitSeven(7'000'000); });
    }
  });
}

void Brief(Case& run) {
  run.report.Start("brief", [&run](ThreadTruth& truth) {
    // Else sleeps last up to 50 us longer.
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    while (MonotonicNs() < end_ns) {
      for (int i = 0; i < 10; ++i) truth.Phase("truth::WaitBriefly", [] { WaitBriefly(60'000); });
      truth.Phase("truth::WaitTenfold", [] { WaitTenfold(600'000); });
    }
  });
}

}  // namespace truth
