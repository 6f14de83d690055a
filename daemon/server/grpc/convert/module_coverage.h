// ModuleCoverage: says of the modules of a profile how far their code can be unwound.
#pragma once

#include <span>

#include "daemon/unwind/service/code_coverage.h"
#include "profd/v1/profile.pb.h"

namespace profd::server {

// Modules are found by their build ids.
void AddCoverage(std::span<const unwind::CodeCoverage> files, v1::Profile& proto);

}  // namespace profd::server
