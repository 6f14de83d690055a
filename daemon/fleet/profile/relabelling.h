// Relabelling: the rules that decide what leaves the host, and under which labels. They are those
// of Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace profd::fleet {

// By name. Those that begin with "__" are for rules alone, and never leave the host.
using Labels = std::map<std::string, std::string>;

enum class RelabelAction : std::uint8_t {
  kReplace,
  kKeep,
  kDrop,
  kLabelMap,
  kLabelDrop,
  kLabelKeep
};

// One [[export.relabel]], with the defaults of Prometheus. Passive.
struct RelabelRule {
  RelabelAction action = RelabelAction::kReplace;
  std::vector<std::string> source_labels = {};
  std::string separator = ";";
  std::string regex = "(.*)";
  std::string target_label = {};
  std::string replacement = "$1";
  friend bool operator==(const RelabelRule&, const RelabelRule&) = default;
};

// "labelmap".
[[nodiscard]] std::string_view NameOf(RelabelAction action);
[[nodiscard]] std::optional<RelabelAction> ActionNamed(std::string_view name);

// Job: applies rules in their order. Immutable; any thread.
class Relabelling {
 public:
  // kInvalidArgument: a regex does not compile, or a rule lacks what its action needs.
  [[nodiscard]] static Result<Relabelling> Make(std::vector<RelabelRule> rules);

  // The labels that leave the host; nothing: they are dropped.
  [[nodiscard]] std::optional<Labels> Apply(Labels labels) const;
  // A rule keeps or drops processes: whether one leaves the host depends on its labels.
  [[nodiscard]] bool MayDrop() const;

 private:
  struct Compiled {
    RelabelRule rule;
    std::shared_ptr<const re2::RE2> regex;
  };
  [[nodiscard]] static bool ApplyOne(const Compiled& compiled, Labels& labels);

  std::vector<Compiled> rules_;
};

}  // namespace profd::fleet
