#include "daemon/pipeline/status.h"

#include <iterator>
#include <utility>

namespace profd::pipeline {
namespace {

void Move(std::vector<NamedCount>& from, std::vector<NamedCount>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void CopySeen(const std::vector<NamedCount>& from, std::vector<NamedCount>& to) {
  for (const auto& count : from)
    if (count.count != 0) to.push_back(count);
}

}  // namespace

BackendStatus DescribeCounters(session::SourceStatus source, const StageCounters& stages,
                               Diagnostics others) {
  BackendStatus status;
  auto& all = status.by_kind;
  all = aggregate::DescribeAllCounters(source.counters);
  status.source = std::move(source);
  auto report = Describe(stages);
  Move(report.dropped, all.dropped);
  Move(report.counters, all.counters);
  Move(others.counters, all.counters);
  status.gauges = std::move(others.gauges);
  Move(report.gauges, status.gauges);
  CopySeen(all.lost, status.lost);
  CopySeen(all.dropped, status.lost);
  CopySeen(all.counters, status.counters);
  CopySeen(status.gauges, status.counters);
  return status;
}

}  // namespace profd::pipeline
