#include "daemon/app/parts/live_shares.h"

#include <algorithm>
#include <iterator>

namespace profd::app {

std::vector<budget::BeyondShare> LiveShares::Beyond() const {
  std::vector<budget::BeyondShare> all;
  for (const budget::Shares* one : {&jit.of_process, &jit.of_user, &python_code.of_process,
                                    &python_code.of_user, &python_searches, &debug_files})
    std::ranges::move(one->Beyond(), std::back_inserter(all));
  return all;
}

}  // namespace profd::app
