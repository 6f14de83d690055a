#include "daemon/fleet/profile/export_profile.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "daemon/aggregate/classes/stack_rules.h"
#include "daemon/base/utf8.h"
#include "daemon/fleet/profile/equal_rows.h"
#include "daemon/fleet/profile/export_paths.h"
#include "daemon/fleet/profile/labels.h"

namespace profd::fleet {
namespace {

constexpr std::array<std::string_view, 5> kParts{"running", "spinning", "runnable", "blocked",
                                                 "stolen"};

// Everything but the numbers.
auto KeyOf(const ExportRow& row) {
  return std::tuple(row.labels, row.part, row.wait, row.thread, row.node, row.path);
}

Part PartOf(const aggregate::ProfileSample& sample, const aggregate::StackRules& stacks,
            const rules::RuleSet* rules) {
  switch (sample.state) {
    case process::State::kOnCpu: {
      const auto decision = stacks.Of(sample);
      const bool spins =
          decision && aggregate::IsSpinning(rules->rules()[decision->rule].frame_class);
      return spins ? Part::kSpinning : Part::kRunning;
    }
    case process::State::kRunnable:
      return Part::kRunnable;
    case process::State::kBlocked:
      break;
  }
  return Part::kBlocked;
}

}  // namespace

std::string_view NameOf(Part part) { return kParts[static_cast<std::size_t>(part)]; }

bool IsOnCpu(Part part) { return part == Part::kRunning || part == Part::kSpinning; }

ExportProfile MakeExportProfile(aggregate::Profile profile, What what,
                                const Relabelling& relabelling, const rules::RuleSet* rules,
                                Paths paths) {
  ExportProfile made;
  made.start_unix_ns = profile.start_unix_ns;
  made.duration_ns = aggregate::WindowLength(profile);
  made.on_cpu_only = what == What::kOnCpu;
  made.period_ns = profile.on_cpu_period_ns;
  made.host = ValidUtf8(profile.host);
  made.profd_version = ValidUtf8(profile.profd_version);
  for (auto* list : {&profile.lost, &profile.dropped})
    std::ranges::move(*list, std::back_inserter(made.lost));

  Numbering<Labels> sets(made.label_sets);
  std::vector<std::optional<Labels>> labels_of;      // by process; nothing: dropped
  std::vector<std::optional<std::uint32_t>> set_of;  // the same
  for (const auto& process : profile.processes) {
    labels_of.push_back(relabelling.Apply(LabelsOf(process, made.host)));
    set_of.push_back(labels_of.back() ? std::optional(sets(*labels_of.back())) : std::nullopt);
  }
  Numbering<std::string> names(made.threads);
  std::vector<std::uint32_t> name_of;
  name_of.reserve(profile.threads.size());
  for (const auto& thread : profile.threads) name_of.push_back(names(ValidUtf8(thread.comm)));

  std::vector<const Labels*> kept;
  kept.reserve(labels_of.size());
  for (const auto& labels : labels_of) kept.push_back(labels ? &*labels : nullptr);
  std::optional<ExportPaths> on_whom;
  if (paths == Paths::kKept && profile.wakers && !made.on_cpu_only)
    on_whom.emplace(profile, kept, relabelling, names, made.paths);

  const aggregate::StackRules stacks(profile, rules);
  for (const auto& sample : profile.samples) {
    const std::uint32_t process = profile.threads[sample.thread].process;
    const auto& set = set_of[process];
    const Part part = PartOf(sample, stacks, rules);
    if (!set || (made.on_cpu_only && !IsOnCpu(part))) continue;
    made.rows.push_back(
        {*set, name_of[sample.thread], sample.node, part,
         part == Part::kBlocked ? sample.wait : process::WaitReason::kNone, sample.count,
         sample.weight_ns,
         part == Part::kBlocked && on_whom ? on_whom->Of(sample.path, process) : 0});
  }
  for (std::size_t i = 0; i < profile.threads.size() && !made.on_cpu_only; ++i) {
    const auto& set = set_of[profile.threads[i].process];
    const std::uint64_t ns = aggregate::StolenClock(profile.threads[i].clock);
    if (set && ns != 0)
      made.rows.push_back({*set, name_of[i], 0, Part::kStolen, process::WaitReason::kNone, 0, ns});
  }
  SumEqual(made.rows, KeyOf);
  made.frames = std::move(profile.frames);
  made.nodes = std::move(profile.nodes);
  return made;
}

std::uint64_t TotalNs(const ExportProfile& profile) {
  std::uint64_t sum = 0;
  for (const ExportRow& row : profile.rows) sum += row.ns;
  return sum;
}

}  // namespace profd::fleet
