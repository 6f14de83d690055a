// Profiles that all formats, views and viewers are tried with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::testing {

[[nodiscard]] v1::Profile SmallProfile();  // five functions, two threads, every state
// 2 s: the first thread works for 650 ms (50 of them in malloc) and spins for 400 ms (100 of them
// for a GPU); the second one waits.
[[nodiscard]] v1::Profile SpinningProfile();
// Two stacks whose shares, 60 % and 40 %, have a standard error of 1 %.
[[nodiscard]] v1::Profile SampledProfile();
// The same program twice as long and in another process: it computes half as much and waits for the
// lock instead, as much sleep, no fsync but a send.
[[nodiscard]] v1::Profile SmallProfileLater();
[[nodiscard]] v1::Profile TypicalProfile();  // a Python program with native and kernel frames
// 1 s of waits of "demo": 62 % for engine-worker, which runs, 21 % for engine-worker, which waits
// for the disk, 9.8 % for a timer, 4.2 % for a thread of another process, which is not followed
// yet, and 3 % that is not known. engine-worker runs for 620 ms and waits for the disk for 210 ms.
[[nodiscard]] v1::Profile WaitingProfile();
// Threads "waiter" (1) and "worker" (2), which runs all the time and ends the first wait of the
// other one after 120 ms; its other waits are ended by no thread of the profile.
[[nodiscard]] v1::Profile EndedWaitsProfile();
// 10 s of "demo", which may use 2 of 8 CPUs: a main thread that waits, and a pool of four threads,
// of which the first does 4 s of work, the others 1 s each and 1 s of spinning; they wait 8 s for a
// CPU and for a lock. At 400 of 1,000 sampling points all four of them want a CPU; two run at most.
// Its cgroup was throttled in 12 of 100 periods. Another process sleeps.
[[nodiscard]] v1::Profile PoolProfile();
// 10 s of "demo" on a host of two NUMA nodes, each with two cores of two CPUs: a main thread that
// waits, pool-0 and pool-1 on the two CPUs of core 0, pool-2 on core 1, and "mover", which goes
// from node to node 40 times a second. They work for 4, 2, 2 and 2 s.
[[nodiscard]] v1::Profile PlacedProfile();
// 1 s of two threads on a host with hardware counters, at 3 GHz: "fast" multiplies for 600 ms at 2
// instructions a cycle, and "chaser" chases pointers for 400 ms at 8 cycles an instruction, with 20
// cache misses per 100 of them; both allocate for 100 ms of that, at 1 cycle and without misses.
[[nodiscard]] v1::Profile CountedProfile();
// A thread with 70 ms in the operator aten::linear, which is of the phase forward (60 running, 10
// blocked for a lock), and 30 ms in none.
[[nodiscard]] v1::Profile OperatorProfile();
// A training loop that says its steps itself: 8 of 10 ms, of which the first one is not whole. It
// waits for data from 1 to 3 ms of each, of the sixth for 50 ms more; the optimizer takes the last
// 2 ms. The phases are those of "load", "forward" and "update".
[[nodiscard]] v1::Profile SteppedProfile();
// A thread with 20 ms of step 1, 30 ms of step 2, of which 10 ms in phase "load", and 50 ms without
// a label.
[[nodiscard]] v1::Profile LabelledProfile();
[[nodiscard]] v1::Profile EmptyProfile();  // a thread without samples
// A wide frame beside a tower of 50 that is far too narrow to be seen at first.
[[nodiscard]] v1::Profile TowerProfile();
// A process with `threads` threads, each in functions of its own and in common ones.
[[nodiscard]] v1::Profile ManyThreadsProfile(int threads);
// Stacks of a tree of about `frames` frames, up to 60 deep; the same at every call.
[[nodiscard]] v1::Profile LargeProfile(int frames);
// Samples of one thread: `certain` stacks that are unwound by rules, `uncertain` ones that go on by
// frame pointer, and some without a user part.
[[nodiscard]] v1::Profile FramePointerProfile(std::uint32_t certain, std::uint32_t uncertain);
// Names that try to break out of every format: markup, quotes, separators, line and direction
// changes. All are UTF-8, as everything in a profile is.
[[nodiscard]] std::vector<std::string> HostileNames();
[[nodiscard]] v1::Profile HostileProfile();

// Two threads of 100 ms, each sample with its CPU. "taker" has slept for 50 ms, was woken by
// "giver" and waited 10 ms for a CPU, and is blocked at the end; "giver" is preempted once.
[[nodiscard]] v1::Profile SwitchesProfile();

}  // namespace profd::testing
