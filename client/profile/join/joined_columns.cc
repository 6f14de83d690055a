#include "client/profile/join/joined_columns.h"

#include <algorithm>
#include <cstddef>

namespace profd::client {
namespace {

using google::protobuf::RepeatedField;
using Order = std::vector<std::uint32_t>;

Order OrderOf(const RepeatedField<std::uint64_t>& times) {
  Order order(static_cast<std::size_t>(times.size()));
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {},
                           [&](std::uint32_t row) { return times[static_cast<int>(row)]; });
  return order;
}

template <typename Value>
void Arrange(RepeatedField<Value>& column, const Order& order) {
  if (column.empty()) return;
  RepeatedField<Value> arranged;
  arranged.Reserve(column.size());
  for (const std::uint32_t row : order) arranged.Add(column[static_cast<int>(row)]);
  column.Swap(&arranged);
}

bool KnowsEdges(const v1::Samples& samples) {
  return samples.weight_ns().empty() || !samples.edges().empty();
}

}  // namespace

void OptionalColumns::Begin(const v1::Profile& profile) {
  edges_known_ = KnowsEdges(profile.samples());
}

void OptionalColumns::Add(const v1::Profile& profile, v1::Samples& joined) {
  const v1::Samples& samples = profile.samples();
  const int more = samples.weight_ns_size();
  const int rows = joined.weight_ns_size() - more;
  const auto same = [](auto value) { return value; };
  edges_known_ = edges_known_ && KnowsEdges(samples);
  if (edges_known_) {
    AppendOrZero(samples.edges(), rows, more, *joined.mutable_edges(), same);
  } else {
    edges_left_out_ = edges_left_out_ || !(samples.edges().empty() && joined.edges().empty());
    joined.clear_edges();
  }
}

void SortByTime(v1::Samples& samples) {
  if (std::ranges::is_sorted(samples.time_ns())) return;
  const Order order = OrderOf(samples.time_ns());
  Arrange(*samples.mutable_time_ns(), order);
  Arrange(*samples.mutable_raw_weight_ns(), order);
  Arrange(*samples.mutable_weight_ns(), order);
  Arrange(*samples.mutable_thread(), order);
  Arrange(*samples.mutable_node(), order);
  Arrange(*samples.mutable_state(), order);
  Arrange(*samples.mutable_wait(), order);
  Arrange(*samples.mutable_count(), order);
  Arrange(*samples.mutable_exact(), order);
  Arrange(*samples.mutable_stack_flags(), order);
  Arrange(*samples.mutable_gil(), order);
  Arrange(*samples.mutable_edges(), order);
  Arrange(*samples.mutable_rule(), order);
  Arrange(*samples.mutable_rule_node(), order);
  Arrange(*samples.mutable_path(), order);
  Arrange(*samples.mutable_labels(), order);
  Arrange(*samples.mutable_cpu(), order);
  Arrange(*samples.mutable_sibling(), order);
  Arrange(*samples.mutable_counted_ns(), order);
  Arrange(*samples.mutable_cycles(), order);
  Arrange(*samples.mutable_instructions(), order);
  Arrange(*samples.mutable_cache_misses(), order);
}

void SortByTime(v1::StepEvents& events) {
  if (std::ranges::is_sorted(events.time_ns())) return;
  const Order order = OrderOf(events.time_ns());
  Arrange(*events.mutable_time_ns(), order);
  Arrange(*events.mutable_thread(), order);
  Arrange(*events.mutable_source(), order);
  Arrange(*events.mutable_name(), order);
  Arrange(*events.mutable_end(), order);
  Arrange(*events.mutable_object(), order);
}

}  // namespace profd::client
