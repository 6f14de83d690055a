#include "daemon/source/sessions/session_table.h"

#include <algorithm>
#include <utility>

namespace profd::source {
namespace {

// Bits of the sessions that `wanted` says yes to.
template <typename Slots, typename Predicate>
std::uint64_t Mask(const Slots& slots, Predicate wanted) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i] && wanted(*slots[i])) mask |= std::uint64_t{1} << i;
  return mask;
}

void TakeFiner(std::uint64_t requested_ns, std::uint64_t& period_ns) {
  if (period_ns == 0 || requested_ns < period_ns) period_ns = requested_ns;
}

template <typename T>
T& OfKind(session::PerKind<T>& both, const session::SessionSpec& spec) {
  return spec.background ? both.background : both.requested;
}

}  // namespace

std::optional<std::uint32_t> SessionTable::NextSlot() const {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    const auto slot = static_cast<std::uint32_t>((next_ + i) % slots_.size());
    if (!slots_[slot]) return slot;
  }
  return std::nullopt;
}

void SessionTable::Add(std::uint32_t slot, session::SessionSpec spec) {
  slots_.at(slot) = std::move(spec);
  next_ = static_cast<std::uint32_t>((slot + 1) % slots_.size());
}

void SessionTable::Remove(std::uint32_t slot) { slots_.at(slot).reset(); }

const session::SessionSpec* SessionTable::Find(std::uint32_t slot) const {
  return slot < slots_.size() && slots_[slot] ? &*slots_[slot] : nullptr;
}

std::uint64_t SessionTable::running() const {
  return Mask(slots_, [](const session::SessionSpec&) { return true; });
}

std::uint64_t SessionTable::on_cpu() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.on_cpu; });
}

std::uint64_t SessionTable::off_cpu() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.off_cpu; });
}

std::uint64_t SessionTable::observed() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.observed; });
}

std::uint64_t SessionTable::visited() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.observed && !spec.dump; });
}

std::uint64_t SessionTable::confined() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.target.uid.has_value(); });
}

std::uint64_t SessionTable::shared() const {
  return Mask(slots_, [](const session::SessionSpec& spec) {
    return spec.target.kind == session::TargetKind::kAll && spec.budget_cpus > 0;
  });
}

std::uint64_t SessionTable::wakers() const {
  return Mask(slots_, [](const session::SessionSpec& spec) {
    return spec.wakers && spec.off_cpu && !spec.observed && !spec.dump;
  });
}

std::uint64_t SessionTable::switches() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.switches; });
}

std::uint64_t SessionTable::counted() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.open_counters != 0; });
}

std::uint64_t SessionTable::background() const {
  return Mask(slots_, [](const session::SessionSpec& spec) { return spec.background; });
}

bool SessionTable::AnyOf(session::TargetKind kind) const {
  return std::ranges::any_of(slots_,
                             [&](const auto& spec) { return spec && spec->target.kind == kind; });
}

session::PerKind<std::uint64_t> SessionTable::on_cpu_periods_ns() const {
  session::PerKind<std::uint64_t> periods;
  for (const auto& slot : slots_)
    if (slot && slot->on_cpu) TakeFiner(slot->on_cpu_period_ns, OfKind(periods, *slot));
  return periods;
}

session::PerKind<std::uint64_t> SessionTable::off_cpu_periods_ns() const {
  session::PerKind<std::uint64_t> periods;
  for (const auto& slot : slots_)
    if (slot && slot->off_cpu && !slot->observed)
      TakeFiner(slot->off_cpu_period_ns, OfKind(periods, *slot));
  return periods;
}

session::PerKind<std::uint64_t> SessionTable::observed_periods_ns() const {
  session::PerKind<std::uint64_t> periods;
  for (const auto& slot : slots_)
    if (slot && slot->off_cpu && slot->observed && !slot->dump)
      TakeFiner(slot->off_cpu_period_ns, OfKind(periods, *slot));
  return periods;
}

session::PerKind<session::SamplingBudget> SessionTable::budgets(std::uint64_t now_ns) const {
  session::PerKind<session::SamplingBudget> sums;
  sums.requested = {.limited = requested() != 0, .on_cpu_adjusts = true};
  sums.background = {.limited = background() != 0, .on_cpu_adjusts = true};
  for (const auto& slot : slots_) {
    if (!slot) continue;
    session::SamplingBudget& sum = OfKind(sums, *slot);
    const bool first = slot->first_budget_cpus > 0 && now_ns < slot->first_budget_until_ns;
    sum.cpus += first ? slot->first_budget_cpus : slot->budget_cpus;
    if (slot->budget_cpus <= 0) sum.limited = false;
    if (slot->on_cpu && !slot->background) sum.on_cpu_adjusts = false;
  }
  return sums;
}

std::optional<session::OnCpuClock> SessionTable::clock() const {
  for (const auto& slot : slots_)
    if (slot && slot->on_cpu) return slot->clock;
  return std::nullopt;
}

}  // namespace profd::source
