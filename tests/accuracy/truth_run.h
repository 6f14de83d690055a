// TruthRun: one run of `truth` under the real profctl, and the two accounts of it side by side.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"
#include "tests/accuracy/kernel_accounting.h"
#include "tests/accuracy/statistics.h"

namespace profd::accuracy {

// The part of a thread's time in some states that has a function on its stack.
struct MeasuredShare {
  double share = 0;      // of one thread by scaled weights, of many by raw ones
  double total_ns = 0;   // of the states, in samples
  double not_ready = 0;  // more it may be: stacks cut above the function, before tables were made
  Weights weights;       // raw, of all samples of the states; exact ones are not by chance
};

enum class Side { kOnCpu, kOffCpu, kBlocked };  // off: blocked and runnable

// What profd says of one thread.
class ThreadView {
 public:
  ThreadView(const v1::Profile& profile, int index) : profile_(&profile), index_(index) {}

  [[nodiscard]] const v1::Thread& thread() const { return profile_->threads(index_); }
  [[nodiscard]] MeasuredShare Share(const std::string& function, Side side) const;
  // Samples by whether their stack reached the thread's root; `not_ready`: because tables were
  // missing that were still being made. Of the complete ones, the frames they begin with. Without
  // those of the thread's end, when it has given its memory back.
  struct Stacks {
    std::uint64_t complete = 0;
    std::uint64_t not_ready = 0;
    std::uint64_t cut = 0;
    std::set<std::string> roots;  // names; the line of a root differs while the thread begins
  };
  [[nodiscard]] Stacks CountStacks() const;
  // Time with this function on the stack and this wait reason.
  [[nodiscard]] std::uint64_t BlockedNs(const std::string& function, v1::WaitReason wait) const;
  // Sum of the scaled weights of all its samples.
  [[nodiscard]] std::uint64_t WeightNs() const;

 private:
  const v1::Profile* profile_;
  int index_;
};

class TruthRun {
 public:
  // Runs `profctl collect OPTIONS -o FILE -- PROGRAM ARGUMENTS`: from the program's first
  // instruction to its end.
  [[nodiscard]] static Result<TruthRun> Collect(const std::string& program,
                                                const std::vector<std::string>& arguments,
                                                const std::vector<std::string>& options);
  // The same with any command.
  [[nodiscard]] static Result<TruthRun> CollectCommand(const std::vector<std::string>& command,
                                                       const std::vector<std::string>& options);
  // A profile of the history: of windows with `borders` between them. `most_unseen`: see below.
  [[nodiscard]] static TruthRun OfHistory(nlohmann::json truth, v1::Profile profile,
                                          double most_unseen, int borders);
  // Starts `PROGRAM ARGUMENTS`, collects `seconds` of it by its pid, and ends it.
  [[nodiscard]] static Result<TruthRun> CollectRunning(const std::string& program,
                                                       const std::vector<std::string>& arguments,
                                                       const std::string& seconds);

  [[nodiscard]] const nlohmann::json& truth() const { return truth_; }
  [[nodiscard]] const v1::Profile& profile() const { return profile_; }
  // kNotFound when the profile has none, or more than one, of this tid.
  [[nodiscard]] Result<ThreadView> Thread(std::uint32_t tid) const;
  // What the program says of its thread of this name.
  [[nodiscard]] const nlohmann::json& Truth(const std::string& name) const;
  [[nodiscard]] ThreadView MustThread(const std::string& name) const;
  [[nodiscard]] ThreadView MainThread() const;
  // Of all threads that the program reported, together. By raw weights: a thread with few samples
  // or none has its whole clock in these.
  [[nodiscard]] MeasuredShare ShareOfAll(const std::string& function, Side side) const;
  // Of all samples, that of stacks walked before their tables were made.
  [[nodiscard]] double NotReadyShare() const;
  // Steal time of the whole machine while it ran, at most. It may fall between the moment by which
  // the kernel dates a switch and the hook.
  [[nodiscard]] std::uint64_t most_stolen_ns() const { return most_stolen_ns_; }
  // The same as a share of the time of all CPUs.
  [[nodiscard]] double StolenShare() const;
  // Share of the elapsed time in which process 1 ran, at most: no wake-up may be seen then.
  [[nodiscard]] double most_unseen() const { return most_unseen_; }
  // Instants at which one window ended and the next one began, at most.
  [[nodiscard]] int borders() const { return borders_; }
  // CLOCK_MONOTONIC before the program was started and after it had ended.
  [[nodiscard]] std::uint64_t before_ns() const { return before_ns_; }
  [[nodiscard]] std::uint64_t after_ns() const { return after_ns_; }

 private:
  nlohmann::json truth_;
  v1::Profile profile_;
  std::uint64_t most_stolen_ns_ = 0;
  double most_unseen_ = 0;
  int borders_ = 0;
  std::uint64_t before_ns_ = 0;
  std::uint64_t after_ns_ = 0;
};

// Why there is no snapshot mode here: its kernel functions are not there, or one CPU; "": there is.
[[nodiscard]] std::string WhyNotObserved();

// What the thread itself read of kernel accounting.
[[nodiscard]] KernelAccounting AccountingOf(const nlohmann::json& thread);

// Wall and CPU time the program measured in a function, summed over its thread's phases.
struct TrueTime {
  double wall_ns = 0;
  double cpu_ns = 0;
  double count = 0;
};
[[nodiscard]] TrueTime TrueTimeIn(const nlohmann::json& thread, const std::string& function);

}  // namespace profd::accuracy
