// LiveSource: the real BpfSource with a thread that polls it, for tests.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/source/bpf_source.h"
#include "daemon/wire/event.h"

namespace profd::source {

// All events from the start of one session until its end, in the order of arrival. Events of other
// sessions are among them.
struct Heard {
  std::vector<wire::Event> events;
  wire::SessionEvent start;
  wire::SessionEvent end;
  std::uint64_t point_seed = 0;

  template <typename Kind>
  [[nodiscard]] std::vector<Kind> All() const {
    std::vector<Kind> found;
    for (const wire::Event& event : events)
      if (const auto* kind = std::get_if<Kind>(&event)) found.push_back(*kind);
    return found;
  }
  [[nodiscard]] std::uint64_t ElapsedNs() const { return end.epoch_ns - start.epoch_ns; }
  // Stacks of a thread that belongs to the session, taken inside it.
  [[nodiscard]] std::vector<wire::StackEvent> Stacks(std::uint32_t tid,
                                                     wire::SampleOrigin origin) const;
  // The clock's reading at the session's start; nothing when the thread was not there.
  [[nodiscard]] std::optional<wire::ClockEvent> AtStart(std::uint32_t tid) const;
  // ... and at its end, or at the thread's own.
  [[nodiscard]] std::optional<wire::ClockEvent> AtEnd(std::uint32_t tid) const;
  // Fails the test if an off-CPU stack has other sampling points than its interval. Returns how
  // many such stacks there are.
  [[nodiscard]] std::size_t CheckPoints() const;
};

// The part of an off-CPU stack's interval in which it is blocked ends here.
[[nodiscard]] std::uint64_t WokenNs(const wire::StackEvent& stack);

// Sum of all ns of a clock; and the growth from one reading to another.
[[nodiscard]] std::uint64_t SumOf(const profd_clock& clock);
[[nodiscard]] std::uint64_t BlockedOf(const profd_clock& clock);
[[nodiscard]] std::uint64_t RunnableOf(const profd_clock& clock);
[[nodiscard]] std::uint64_t StolenOf(const profd_clock& clock);
[[nodiscard]] profd_clock Growth(const profd_clock& from, const profd_clock& to);

// Owned and used by the test thread; the polling thread is its own.
class LiveSource {
 public:
  // Creates what needs the source before it is polled, such as a service for unwind tables. It is
  // destroyed after the last Poll and before the source.
  using Prepare = std::function<std::shared_ptr<void>(BpfSource&)>;

  // An error: this host cannot run it.
  [[nodiscard]] static Result<std::unique_ptr<LiveSource>> Start(
      const BpfSourceOptions& options = {}, const Prepare& prepare = {});
  LiveSource(const LiveSource&) = delete;
  LiveSource& operator=(const LiveSource&) = delete;
  ~LiveSource();

  [[nodiscard]] BpfSource& source() { return *source_; }
  // The session's number; fails the test when it cannot be started.
  [[nodiscard]] std::uint32_t Begin(const session::SessionSpec& spec);
  // Ends the session and waits for its end event.
  [[nodiscard]] Heard End(std::uint32_t session);
  // Rolls the session; the number of the next one.
  [[nodiscard]] std::uint32_t Roll(std::uint32_t session);
  // Waits for the end event of a session that was ended or rolled; fails the test when none comes.
  [[nodiscard]] Heard Await(std::uint32_t session);
  // Waits until so many such stacks have come since the session was begun. False: not within a
  // minute.
  [[nodiscard]] bool AwaitStacks(std::uint32_t session, std::size_t count,
                                 const std::function<bool(const wire::StackEvent&)>& wanted);

 private:
  LiveSource(std::unique_ptr<reader::Zygote> zygote, std::unique_ptr<reader::Readers> snapshots,
             std::unique_ptr<reader::Readers> processes, std::unique_ptr<reader::Readers> observers,
             std::unique_ptr<reader::Readers> step_places, std::unique_ptr<BpfSource> source,
             std::shared_ptr<void> prepared);
  void PollUntil(const std::stop_token& stop);

  std::unique_ptr<reader::Zygote> zygote_;
  std::unique_ptr<reader::Readers> snapshots_;
  std::unique_ptr<reader::Readers> processes_;
  std::unique_ptr<reader::Readers> observers_;
  std::unique_ptr<reader::Readers> step_places_;
  std::unique_ptr<BpfSource> source_;
  std::shared_ptr<void> prepared_;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<wire::Event> events_;
  std::map<std::uint32_t, std::size_t> begun_;  // by session: events_ that came before it
  std::jthread poller_;                         // last: uses all of them
};

}  // namespace profd::source
