#include "daemon/server/grpc/convert/module_coverage.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "daemon/base/utf8.h"

namespace profd::server {

namespace {

void AddTo(const unwind::CodeCoverage& coverage, v1::Module& module) {
  module.set_code_covered_bytes(module.code_covered_bytes() + coverage.covered_bytes);
  module.set_code_bare_bytes(module.code_bare_bytes() + coverage.bare_bytes);
  auto& known = *module.mutable_code_refused();
  for (const NamedCount& reason : coverage.refused) {
    const std::string text = ValidUtf8(reason.text);
    auto same = std::ranges::find(known, text, [](const auto& one) { return one.text(); });
    if (same == known.end()) {
      known.Add()->set_text(text);
      same = std::prev(known.end());
    }
    same->set_count(same->count() + reason.count);
  }
}

}  // namespace

void AddCoverage(std::span<const unwind::CodeCoverage> all, const aggregate::Profile& profile,
                 v1::Profile& proto) {
  for (v1::Module& module : *proto.mutable_modules()) {
    if (module.build_id().empty()) continue;
    const auto file = std::ranges::find(all, module.build_id(), &unwind::CodeCoverage::build_id);
    if (file != all.end()) AddTo(*file, module);
  }
  v1::Module memory;
  for (const unwind::CodeCoverage& one : all) {
    const auto is_its = [&](const aggregate::ProfileProcess& process) {
      return process.group_size == 0 && process.key.pid == one.pid;
    };
    if (one.pid != 0 && std::ranges::any_of(profile.processes, is_its)) AddTo(one, memory);
  }
  if (memory.code_covered_bytes() + memory.code_bare_bytes() > 0) *proto.add_modules() = memory;
}

}  // namespace profd::server
