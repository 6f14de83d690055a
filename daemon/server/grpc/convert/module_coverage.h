// ModuleCoverage: says of the modules of a profile how far their code can be unwound.
#pragma once

#include <span>

#include "daemon/aggregate/profile.h"
#include "daemon/unwind/service/code_coverage.h"
#include "profd/v1/profile.pb.h"

namespace profd::server {

// Modules are found by their build ids. Code that processes of `profile` have made is one module
// more, which has no path.
void AddCoverage(std::span<const unwind::CodeCoverage> all, const aggregate::Profile& profile,
                 v1::Profile& proto);

}  // namespace profd::server
