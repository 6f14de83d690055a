#include "daemon/wire/orderer.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace profd::wire {
namespace {

// What a burst has taken beyond these is given back.
constexpr std::size_t kSlotsKept = 4'096;

}  // namespace

Orderer::Orderer(const Options& options, Sink sink) : options_(options), sink_(std::move(sink)) {}

void Orderer::Push(Event&& event) {
  const auto* session = std::get_if<SessionEvent>(&event);
  if (session != nullptr && session->end) {
    Flush();
    ordered_.Add();
    sink_(std::move(event));
    return;
  }
  const std::uint64_t time_ns = HeaderOf(event).time_ns;
  if (time_ns < delivered_ns_) {
    late_.Add();
    sink_(std::move(event));
    return;
  }
  Hold(time_ns, std::move(event));
  Advance(std::max(newest_ns_, time_ns));
  if (heap_.size() > options_.max_held) {
    crowded_.Add();
    HandOverOldest();
  }
}

void Orderer::Advance(std::uint64_t now_ns) {
  newest_ns_ = std::max(newest_ns_, now_ns);
  while (!heap_.empty() && heap_.front().time_ns <= newest_ns_ &&
         newest_ns_ - heap_.front().time_ns >= options_.delay_ns) {
    HandOverOldest();
  }
}

void Orderer::Flush() {
  while (!heap_.empty()) HandOverOldest();
  if (slots_.size() <= kSlotsKept) return;
  slots_ = std::vector<Event>();
  free_slots_ = std::vector<std::size_t>();
  heap_ = std::vector<Entry>();
}

OrderCounters Orderer::Counters() const {
  return {.ordered = ordered_.value(), .late = late_.value(), .crowded = crowded_.value()};
}

bool Orderer::Newer(const Entry& a, const Entry& b) {
  return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.arrival > b.arrival;
}

void Orderer::Hold(std::uint64_t time_ns, Event&& event) {
  std::size_t slot = slots_.size();
  if (free_slots_.empty()) {
    slots_.push_back(std::move(event));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(event);
  }
  heap_.push_back({time_ns, arrivals_++, slot});
  std::ranges::push_heap(heap_, Newer);
}

void Orderer::HandOverOldest() {
  std::ranges::pop_heap(heap_, Newer);
  const Entry oldest = heap_.back();
  heap_.pop_back();
  delivered_ns_ = std::max(delivered_ns_, oldest.time_ns);
  Event event = std::move(slots_[oldest.slot]);
  free_slots_.push_back(oldest.slot);
  ordered_.Add();
  sink_(std::move(event));
}

}  // namespace profd::wire
