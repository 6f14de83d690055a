#include "client/profile/copy_sample.h"

namespace profd::client {

void CopySample(const v1::Samples& from, int index, v1::Samples& to) {
  to.add_time_ns(from.time_ns(index));
  to.add_raw_weight_ns(from.raw_weight_ns(index));
  to.add_weight_ns(from.weight_ns(index));
  to.add_thread(from.thread(index));
  to.add_node(from.node(index));
  to.add_state(from.state(index));
  to.add_wait(from.wait(index));
  to.add_count(from.count(index));
  to.add_exact(from.exact(index));
  to.add_stack_flags(from.stack_flags(index));
  if (from.gil_size() > 0) to.add_gil(from.gil(index));
}

}  // namespace profd::client
