// A stack with known time at each of its depths: every function computes and waits, and calls the
// next in another way. Waits are libc's own, which keeps no frame pointers.
#include <alloca.h>
#include <stdlib.h>
#include <time.h>

#include <array>
#include <functional>
#include <utility>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/truth.h"

namespace truth {
namespace {

struct Work {
  const Counter& counter;
  ThreadTruth& truth;

  // Of each function itself.
  PROFD_INLINE void Own(std::int64_t spin_ns, std::int64_t wait_ns) const {
    profd::testprog::SpinUntil(counter.After(spin_ns));
    const timespec wait{.tv_sec = 0, .tv_nsec = wait_ns};
    nanosleep(&wait, nullptr);
  }
};

// What a callback of qsort is to do.
thread_local std::function<void()> in_callback;

int CallBack(const void*, const void*) {
  std::exchange(in_callback, [] {})();
  return 0;
}

}  // namespace

PROFD_NAMED void Depth6(const Work& work) { work.Own(300'000, 100'000); }

PROFD_NAMED void Depth5(const Work& work) {
  alignas(64) std::array<char, 256> wide{};
  asm volatile("" : : "r"(wide.data()) : "memory");
  work.Own(100'000, 300'000);
  work.truth.Phase("truth::Depth6", [&] { Depth6(work); });
  asm volatile("" : : "r"(wide.data()) : "memory");
}

PROFD_NAMED void Depth4(const Work& work) {
  work.Own(200'000, 200'000);
  in_callback = [&work] { work.truth.Phase("truth::Depth5", [&] { Depth5(work); }); };
  std::array<int, 2> values{1, 2};
  qsort(values.data(), values.size(), sizeof values[0], CallBack);
}

PROFD_NAMED void Depth3(const Work& work, std::size_t bytes) {
  auto* room = static_cast<volatile char*>(alloca(bytes));
  room[bytes - 1] = 1;
  work.Own(50'000, 400'000);
  work.truth.Phase("truth::Depth4", [&] { Depth4(work); });
  room[0] = 1;
}

PROFD_NAMED void Depth2(const Work& work) {
  work.Own(150'000, 150'000);
  work.truth.Phase("truth::Depth3", [&] { Depth3(work, 1 + work.counter.After(0) % 500); });
}

PROFD_NAMED void Depth1(const Work& work) {
  work.Own(250'000, 50'000);
  work.truth.Phase("truth::Depth2", [&] { Depth2(work); });
}

void Depth(Case& run) {
  run.report.Start("deep", [&run](ThreadTruth& truth) {
    const Work work{run.counter, truth};
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    while (MonotonicNs() < end_ns) {
      truth.Phase("truth::Depth1", [&] { Depth1(work); });
      work.Own(100'000, 100'000);
    }
  });
}

}  // namespace truth
