// What profd keeps on disk of files that it has read.
#pragma once

#include <memory>

#include "daemon/base/named_count.h"
#include "daemon/config/options.h"
#include "daemon/reader/answer_cache.h"

namespace profd::app {

// Null: the options say that nothing is kept. A folder that cannot be used is no error: the cache
// says so itself.
[[nodiscard]] std::unique_ptr<reader::AnswerCache> MakeCache(const config::Options& options);

// What it has saved. Any thread.
[[nodiscard]] Diagnostics Describe(const reader::AnswerCache& cache);

}  // namespace profd::app
