#include "daemon/source/sessions/stolen_ratio.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "bpf/shared/control.h"
#include "daemon/base/mul_div.h"

namespace profd::source {
namespace {

// Fields of the first line, in units of USER_HZ.
enum Field { kUser, kNice, kSystem, kIdle, kIoWait, kIrq, kSoftIrq, kSteal, kFields };
constexpr std::uint64_t kUnitNs = 10'000'000;  // USER_HZ is 100 on x86-64

}  // namespace

std::optional<std::uint64_t> BusyNs(std::string_view stat) {
  constexpr std::string_view kKey = "cpu ";
  if (!stat.starts_with(kKey)) return std::nullopt;
  stat.remove_prefix(kKey.size());
  std::uint64_t busy = 0;
  for (int field = 0; field < kFields; ++field) {
    stat.remove_prefix(std::min(stat.find_first_not_of(' '), stat.size()));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(stat.data(), stat.data() + stat.size(), value);
    if (error != std::errc()) return std::nullopt;
    stat.remove_prefix(static_cast<std::size_t>(end - stat.data()));
    if (field != kIdle && field != kIoWait) busy += value;
  }
  return busy * kUnitNs;
}

std::uint64_t StolenRatio::Update(std::uint64_t stolen_ns, std::uint64_t busy_ns) {
  const Totals now{stolen_ns, busy_ns};
  if (!begin_ || busy_ns < begin_->busy_ns || stolen_ns < begin_->stolen_ns) begin_ = now;
  const std::uint64_t busy = busy_ns - begin_->busy_ns;
  if (busy < kLeastBusyNs) return ratio_;
  const std::uint64_t stolen = std::min(stolen_ns - begin_->stolen_ns, busy);
  const std::uint64_t ran = busy - stolen;
  begin_ = now;
  ratio_ = ran == 0 ? kMost : std::min(MulDiv(stolen, 1u << PROFD_STOLEN_SHIFT, ran), kMost);
  return ratio_;
}

}  // namespace profd::source
